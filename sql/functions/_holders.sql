-- The claims that are live in a workflow, or in a group of it, the oldest 100: whose they are and since when.
create or replace function holdfast._holders(_workflow text, _group text) returns json
language sql stable set enable_seqscan = off as $$
  select coalesce(json_agg(json_build_object('run', h.id, 'worker', h.worker_id, 'workerName', h.name, 'since', h.claimed_at)
    order by h.claimed_at, h.id), '[]')
  from (
    select r.id, r.worker_id, w.name, r.claimed_at
    from holdfast.runs r left join holdfast.workers w on w.id = r.worker_id
    where r.token % 2 = 1 and r.workflow = _workflow and (_group is null or r.group_key = _group)
    order by r.claimed_at, r.id limit 100
  ) h
$$;
