-- A ticket for a run that may have been woken, whatever its present token. `_mark` tells it from others of the
-- run; the queue's keys are short.
create or replace function holdfast._wake_ticket(_run holdfast.runs, _mark text, _at timestamptz) returns holdfast_queue.job_spec
language sql stable as $$
  select row(_run.workflow, case when _run.group_key is null
      then json_build_object('run', _run.id)
      else json_build_object('run', _run.id, 'group', _run.group_key) end, null, _at, 32767::smallint, _run.id || ':' || _mark,
    (-1 - _run.priority)::smallint, null)::holdfast_queue.job_spec
$$;
