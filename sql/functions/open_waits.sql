-- Opens waits, many runs' in one call, each under its claim's fence, and starts the children that some of them wait for.
-- Items: id, token, key, kind (sleep, signal, call, park, or start: a child that nobody waits for), name (of a signal),
-- delay_ms or until, ordinal, seq (the place of its memo, should it end at once), reason, child (an item of start_runs).
-- Answers one row an item, n from 1: `lost` with its reason; or what ended the wait, kept as its memo; or in how many
-- milliseconds its time is over (null: it has none). `child` is what start_runs answered of the child, if it was not
-- started as asked, nothing was opened.
--
-- Asked again it answers anew: so a claim that is busy beside its waits learns what has come for them.
--
-- Rows are looked up one by one (`limit 1`): a join is planned as one over all of a table that was empty when the plan was made.
create or replace function holdfast.open_waits(_items json)
returns table (n integer, lost text, kind text, value text, types text, wait_ms double precision, child text)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _children json;
  _targets uuid[];
  _held uuid[];
  _started json;
  _called uuid[];
  _ends holdfast.wait_end[];
begin
  perform holdfast._require_read_committed();
  select json_agg(i.child) filter (where i.child is not null) into _children from json_to_recordset(_items) i (child json);
  if _children is not null then
    perform holdfast._take_keys(_children, holdfast._now());
    -- Whose ends are waited for is locked with those that wait, or an end might miss its wait.
    _targets := array(
      select c.id from json_to_recordset(_children) c (id uuid)
      union
      select (select k.run_id from holdfast.keys k where k.workflow = c.workflow and k.key = c.key limit 1)
      from json_to_recordset(_children) c (workflow text, key text) where c.key is not null);
  end if;
  perform 1 from (
    select from holdfast.runs r
    where r.id = any(_targets || array(select i.id from json_to_recordset(_items) i (id uuid)))
    order by r.depth, r.id
    for key share of r
  ) locked;
  _at := holdfast._now();
  _held := array(
    select i.id from json_to_recordset(_items) i (id uuid, token integer)
    where i.token = (select r.token from holdfast.runs r where r.id = i.id limit 1));

  if _children is not null then
    if exists (select from json_to_recordset(_items) i (id uuid) where i.id <> all(_held)) then
      delete from holdfast.keys k using json_to_recordset(_items) i (id uuid, child json)
      where i.child is not null and i.id <> all(_held) and k.run_id = (i.child ->> 'id')::uuid
        and k.workflow = i.child ->> 'workflow' and k.key = i.child ->> 'key'
        and not exists (select from holdfast.runs r where r.id = k.run_id);
    end if;
    with asked as (
      select i.id, i.key, i.child, row_number() over () as n
      from json_to_recordset(_items) i (id uuid, key text, child json)
      where i.child is not null and i.id = any(_held)
    ), started as (
      select * from holdfast.start_runs((select json_agg(a.child order by a.n) from asked a))
    )
    select json_agg(json_build_object('run', a.id, 'key', a.key, 'id', s.id, 'is_good',
        s.id is not null and s.is_same_workflow and (s.is_same_input or (a.child ->> 'allow_different_input')::boolean),
        'answer', to_json(s)))
    into _started from asked a join started s on s.n = a.n;
    insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, value)
    select i.id, i.key, 'answer', i.seq, i.ordinal, r.attempt, i.token, 1, _at, json_build_object('id', s.id)
    from json_to_recordset(_items) i (id uuid, token integer, key text, kind text, seq integer, ordinal integer)
    join json_to_recordset(_started) s (run uuid, key text, id uuid, is_good boolean) on s.run = i.id and s.key = i.key
    cross join lateral (select r.attempt from holdfast.runs r where r.id = i.id limit 1) r
    where i.kind = 'start' and s.is_good
    order by i.id, i.key
    on conflict do nothing;
  end if;

  insert into holdfast.waits (run_id, key, kind, name, due_at, ordinal, opened_at, child_id, reason)
  -- What ends a call or a parking bears the name of this opening: a signal of an earlier one is none of its.
  select i.id, i.key, i.kind,
    case when i.kind in ('call', 'park') then format('[%s]%s/%s/%s', i.kind, i.id, i.token, i.key) else i.name end,
    coalesce(i.until, _at + i.delay_ms * interval '1 ms'), i.ordinal, _at,
    case when i.kind = 'call' then holdfast._last_of_chain(s.id) end, i.reason
  from json_to_recordset(_items) i (id uuid, token integer, key text, kind text, name text, until timestamptz,
    delay_ms double precision, ordinal integer, reason text)
  left join json_to_recordset(coalesce(_started, '[]')) s (run uuid, key text, id uuid, is_good boolean)
    on s.run = i.id and s.key = i.key
  where i.id = any(_held) and i.kind <> 'start' and (i.kind <> 'call' or s.is_good)
    and (select m.kind from holdfast.steps m where m.run_id = i.id and m.key = i.key limit 1) is null
  order by i.id, i.key
  on conflict do nothing;

  if _started is not null then
    _called := array(
      select (select w.child_id from holdfast.waits w where w.run_id = s.run and w.key = s.key limit 1)
      from json_to_recordset(_started) s (run uuid, key text));
    perform holdfast._tell_parents(_called, _at);
  end if;
  perform holdfast._bind_signals(_held);
  _ends := array(
    select row(e.run_id, e.key, e.ordinal, e.kind, e.value, e.types, e.at, e.arrival, i.seq)::holdfast.wait_end
    from holdfast._wait_ends(_held, _at) e
    join json_to_recordset(_items) i (id uuid, key text, seq integer) on i.id = e.run_id and i.key = e.key);
  if cardinality(_ends) > 0 then
    perform holdfast._keep_ends(_ends, _at);
  end if;

  return query
  select i.n::integer, case when i.id <> all(_held) then holdfast._lost_reason(i.id, i.token) end, m.kind, m.value::text,
    m.types, (extract(epoch from w.due_at - _at) * 1000)::double precision, s.answer::text
  from rows from (json_to_recordset(_items) as (id uuid, token integer, key text)) with ordinality i (id, token, key, n)
  left join lateral (
    select m.kind, m.value, m.types from holdfast.steps m where m.run_id = i.id and m.key = i.key limit 1
  ) m on true
  left join lateral (select w.due_at from holdfast.waits w where w.run_id = i.id and w.key = i.key limit 1) w on true
  left join json_to_recordset(coalesce(_started, '[]')) s (run uuid, key text, answer json) on s.run = i.id and s.key = i.key;
end
$$;
