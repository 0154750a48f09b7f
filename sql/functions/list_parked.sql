-- Runs that wait for a person, those that have waited longest first, at most `_limit`: as JSON texts.
create or replace function holdfast.list_parked(_workflow text, _limit integer) returns setof text
language sql stable as $$
  select json_build_object('run', r.id, 'workflow', r.workflow, 'key', r.key, 'step', split_part(w.key, '[again]', 1), 'reason', w.reason,
    'since', w.opened_at, 'until', w.due_at)::text
  from holdfast.waits w join holdfast.runs r on r.id = w.run_id
  where w.kind = 'park' and r.ended_at is null and (_workflow is null or r.workflow = _workflow)
    and not exists (
      select from holdfast.signals s where s.run_id = coalesce(r.chain_id, r.id) and s.name = w.name and s.taken_by is null)
  order by w.opened_at, w.run_id
  limit _limit
$$;
