-- Keeps signals for runs and sees that each run is looked at. Items: id (of the signal: sent again it is the same), run or
-- workflow and key, name, payload, types, by. Answers one row an item, n from 1: `sent`, or `ended` for a run that has ended,
-- which keeps nothing. A run that nobody has seen yet finds its signals when it comes.
--
-- It locks no run's row, so a caller's transaction holds up nobody: a claim that meets a suspended run whose wait is
-- satisfied takes it.
create or replace function holdfast.send_signals(_items json) returns table (n integer, outcome text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _ended integer[];
  _tickets holdfast_queue.job_spec[];
  _running uuid[];
begin
  with named as materialized (
    select i.*, holdfast._last_of_chain(coalesce(i.run, (
        select k.run_id from holdfast.keys k
        where k.workflow = i.workflow and k.key = i.key and not holdfast._is_key_free(k.run_id, k.dedupe, _at)))) as target
    from rows from (json_to_recordset(_items) as (id text, run uuid, workflow text, key text, name text, payload text, types text,
      by text)) with ordinality i (id, run, workflow, key, name, payload, types, by, n)
  ), found as materialized (
    select i.*, r.id as found_id, coalesce(r.chain_id, r.id, i.run) as to_run, r.ended_at is not null as is_over,
      row_number() over (partition by coalesce(r.chain_id, r.id, i.run), i.id order by i.n) as time
    from named i left join lateral (
      select r.id, r.chain_id, r.ended_at from holdfast.runs r where r.id = i.target limit 1
    ) r on true
  ), sent as (
    insert into holdfast.signals (run_id, workflow, key, id, name, sent_at, sent_by, is_early, payload, types)
    select f.to_run, case when f.to_run is null then f.workflow end, case when f.to_run is null then f.key end, f.id, f.name,
      _at, f.by, f.found_id is null, f.payload::json, f.types
    from found f where not f.is_over
    order by f.n
    on conflict do nothing
    returning run_id, id, arrival
  )
  select array_agg(f.n) filter (where f.is_over),
    array_agg(holdfast._wake_ticket(r.run, 's' || s.arrival, _at) order by s.arrival) filter (where r.id is not null and s.arrival is not null),
    array_agg(distinct r.id) filter (where r.state = 'running')
  into _ended, _tickets, _running
  from found f
  -- One sent several times at once has one ticket: the queue takes no two of one key in a call.
  left join sent s on s.run_id = f.to_run and s.id = f.id and f.time = 1
  left join lateral (select r as run, r.id, r.state from holdfast.runs r where r.id = f.found_id limit 1) r on true;
  perform holdfast._issue_tickets(_tickets);
  perform holdfast._notify_runs('signalled', _running);
  return query
  select i.n::integer, case when i.n = any(_ended) then 'ended' else 'sent' end
  from rows from (json_to_recordset(_items) as (id text)) with ordinality i (id, n);
end
$$;
