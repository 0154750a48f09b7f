-- Runs, newest first, as `workflow list` shows them; of one workflow or state, or of all (null).
create or replace function holdfast.list_runs(_workflow text, _state text, _limit integer) returns table (run text)
language sql stable as $$
  select to_json(v)::text from holdfast.run_views v
  where (_workflow is null or v.workflow = _workflow) and (_state is null or v.state = _state)
  order by v.id desc
  limit _limit
$$;
