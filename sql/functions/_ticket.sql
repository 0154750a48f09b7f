-- The ticket of one run under its present token, which says its group too: whatever became of the run, its line is looked
-- at. A later claim's ticket has another key, so it never meets an old one
-- that is still locked. The queue wants the lower priority number first, ours is the higher: -1 - p turns the whole range
-- of a smallint round, where -p would let the lowest two fall together.
create or replace function holdfast._ticket(_run uuid, _token integer, _workflow text, _group text,
  _priority smallint, _run_at timestamptz) returns holdfast_queue.job_spec
language sql stable as $$
  select row(_workflow, case when _group is null
      then json_build_object('run', _run, 'token', _token)
      else json_build_object('run', _run, 'token', _token, 'group', _group) end, null, _run_at, 32767::smallint, _run || ':' || _token,
    (-1 - _priority)::smallint, null)::holdfast_queue.job_spec
$$;
