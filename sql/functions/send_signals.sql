-- Keeps signals for runs and sees that each run is looked at. Items: id (of the signal), run, name, payload, types.
-- It locks no run's row, so a caller's transaction holds up nobody: a claim that meets a suspended run whose wait is
-- satisfied takes it.
create or replace function holdfast.send_signals(_items json) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
begin
  insert into holdfast.signals (run_id, id, name, sent_at, payload, types)
  select i.run, i.id, i.name, _at, i.payload::json, i.types
  from json_to_recordset(_items) i (id uuid, run uuid, name text, payload text, types text)
  on conflict do nothing;
  return holdfast._issue_tickets((
    select array_agg(row(r.workflow, json_build_object('run', r.id, 'group', r.group_key), null, _at, 32767::smallint, 'signal:' || i.id,
      (-1 - r.priority)::smallint, null)::holdfast_queue.job_spec)
    from json_to_recordset(_items) i (id uuid, run uuid) join holdfast.runs r on r.id = i.run
    where r.ended_at is null));
end
$$;
