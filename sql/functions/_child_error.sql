-- How a run that failed or was cancelled reaches the run that called it: as a stored ChildFailedError (model/stored-error.ts).
create or replace function holdfast._child_error(_run holdfast.runs) returns json
language sql stable as $$
  select json_build_object(
    'name', 'ChildFailedError', 'isError', true, 'retryable', false, 'code', 'CHILD_FAILED',
    'message', format('Run %s of "%s" %s%s', _run.id, _run.workflow,
      case when _run.state = 'cancelled' then 'was cancelled' else 'failed (' || _run.failure || ')' end,
      coalesce(': ' || left(_run.reason, 2000), '.')),
    'fields', case when _run.state = 'cancelled'
      then json_build_object('runId', _run.id, 'workflow', _run.workflow)
      else json_build_object('runId', _run.id, 'workflow', _run.workflow, 'failure', _run.failure) end,
    'cause', _run.error)
$$;
