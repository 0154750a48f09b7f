-- The ticket of one run under its present token. A later claim's ticket has another key, so it never meets an old one
-- that is still locked. The queue wants the lower priority number first; ours is the higher.
create or replace function holdfast._ticket(_run uuid, _token integer, _workflow text, _priority smallint,
  _run_at timestamptz) returns holdfast_queue.job_spec
language sql stable as $$
  select row(_workflow, json_build_object('run', _run, 'token', _token), null, _run_at, 32767::smallint, _run || ':' || _token,
    least(-(_priority::integer), 32767)::smallint, null)::holdfast_queue.job_spec
$$;
