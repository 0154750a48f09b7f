-- Starts runs, each with its ticket if it is due. Items: id, workflow, key, group_key, priority, max_attempts, at,
-- delay_ms, deadline_ms, dedupe_ms, keep_ms, keep_done_ms, max_waiting, metadata, input, input_types; of a child
-- parent_id and is_cancelled_with_parent; the W3C trace context of what starts it as traceparent and tracestate; of a run that goes on where another one ended, that one as continues, whose priority and the like it takes. Answers
-- one row an item, n from 1: the run that the id or key names now, and whether it was made here; or that it was not
-- made, since max_waiting runs of its workflow wait already. Starts in flight do not see each other there.
--
-- It works at any isolation level and locks no run's row, so a caller's long transaction holds up nobody.
create or replace function holdfast.start_runs(_items json)
returns table (n integer, id uuid, is_created boolean, state text, is_same_workflow boolean, is_same_input boolean,
  is_full boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _full uuid[] := '{}';
  _new uuid[];
  _tickets holdfast_queue.job_spec[];
  _is_due_soon boolean;
begin
  if exists (select from json_to_recordset(_items) i (key text) where i.key is not null) then
    perform holdfast._take_keys(_items, _at);
  end if;

  if exists (select from json_to_recordset(_items) i (max_waiting integer) where i.max_waiting is not null) then
    with fresh as (
      select i.id, i.workflow, i.max_waiting, row_number() over (partition by i.workflow order by i.id) as place
      from json_to_recordset(_items) i (id uuid, workflow text, key text, max_waiting integer)
      where i.max_waiting is not null and (select r.id from holdfast.runs r where r.id = i.id limit 1) is null
        and (i.key is null or i.id = (
          select k.run_id from holdfast.keys k where k.workflow = i.workflow and k.key = i.key limit 1))
    ), room as (
      select w.workflow, w.max_waiting, (
        select count(*) from (
          select from holdfast.runs r where r.workflow = w.workflow and r.state = 'waiting' limit w.max_waiting
        ) waiting) as waiting
      from (select distinct f.workflow, f.max_waiting from fresh f) w
    )
    select coalesce(array_agg(f.id), '{}') into _full
    from fresh f join room using (workflow, max_waiting)
    where f.place + room.waiting > max_waiting;
    delete from holdfast.keys k using json_to_recordset(_items) i (id uuid, workflow text, key text)
    where i.id = any(_full) and k.workflow = i.workflow and k.key = i.key and k.run_id = i.id;
  end if;

  with items as (
    select i.*, row_number() over (order by i.id desc) as back
    from json_to_recordset(_items) i (id uuid, workflow text, key text, group_key text, priority smallint,
      max_attempts smallint, at timestamptz, delay_ms double precision, deadline_ms double precision,
      dedupe_ms double precision, keep_ms double precision, keep_done_ms double precision, metadata json,
      input text, input_types text, parent_id uuid, is_cancelled_with_parent boolean, continues uuid,
      traceparent text, tracestate text)
  ), due as (
    -- Runs started together are due a microsecond apart, by id, so that their order is exact in the queue too.
    select *, coalesce(at, _at + delay_ms * interval '1 ms', _at - back * interval '1 us') as due_at from items
  ), made as (
    insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, deadline_at,
      keep_seconds, keep_done_seconds, key, group_key, metadata, input, input_types, parent_id, is_cancelled_with_parent,
      root_id, depth, chain_id, traceparent, tracestate)
    select i.id, i.workflow, case when i.due_at <= _at then 'waiting' else 'scheduled' end, coalesce(o.priority, i.priority),
      coalesce(o.max_attempts, i.max_attempts), _at, i.due_at, i.due_at + i.deadline_ms * interval '1 ms',
      holdfast._kept_seconds(i.keep_ms, i.dedupe_ms), holdfast._kept_seconds(i.keep_done_ms, i.dedupe_ms),
      i.key, i.group_key, coalesce(o.metadata, i.metadata), i.input::json, i.input_types,
      coalesce(i.parent_id, o.parent_id), coalesce(i.is_cancelled_with_parent, o.is_cancelled_with_parent, false),
      coalesce(p.root_id, o.root_id),
      coalesce(case when p.depth < 32767 then p.depth + 1 else p.depth end, o.depth, 0), coalesce(o.chain_id, o.id), i.traceparent, i.tracestate
    from due i
    left join lateral (select p.depth, coalesce(p.root_id, p.id) as root_id from holdfast.runs p where p.id = i.parent_id limit 1) p on true
    left join lateral (select o.* from holdfast.runs o where o.id = i.continues limit 1) o on true
    where i.id <> all(_full) and (i.key is null or i.id = (
      select k.run_id from holdfast.keys k where k.workflow = i.workflow and k.key = i.key limit 1))
    order by i.id
    on conflict do nothing
    returning id, workflow, group_key, state, priority, due_at
  )
  select array_agg(id),
    array_agg(holdfast._ticket(id, 0, workflow, group_key, priority, due_at) order by priority desc, due_at, id)
      filter (where state = 'waiting'),
    bool_or(state = 'scheduled' and due_at <= _at + interval '5 s')
  into _new, _tickets, _is_due_soon
  from made;

  perform holdfast._issue_tickets(_tickets);
  if _is_due_soon then
    perform holdfast._notify('due');
  end if;

  return query
  select i.n::integer, r.id, coalesce(r.id = i.id and r.id = any(_new), false), r.state, r.workflow = i.workflow,
    -- What was started from SQL says null where TypeScript says undefined.
    (r.input::text = i.input or holdfast._is_same_json(r.input::text, i.input))
      and (r.input_types is not distinct from i.input_types or i.input = 'null'
        or holdfast._is_same_json(r.input_types, i.input_types)),
    i.id = any(_full)
  from rows from (json_to_recordset(_items) as (id uuid, workflow text, key text, input text, input_types text))
    with ordinality i (id, workflow, key, input, input_types, n)
  left join lateral (
    select k.run_id from holdfast.keys k where k.workflow = i.workflow and k.key = i.key limit 1
  ) k on true
  left join lateral (
    select coalesce((select r.id from holdfast.runs r where r.id = i.id limit 1), k.run_id) as id
  ) named on true
  left join lateral (
    select r.id, r.state, r.workflow, r.input, r.input_types from holdfast.runs r where r.id = named.id limit 1
  ) r on true;
end
$$;
