-- The schedule of a workflow, or of all that have one: what it says, where it stands, and what came of it so far. As JSON.
create or replace function holdfast.show_schedules(_workflow text) returns text
language sql stable as $$
  select coalesce(json_agg(json_build_object(
    'workflow', s.workflow,
    'cron', s.spec -> 'cron',
    'zone', s.spec -> 'zone',
    'everyMs', s.spec -> 'everyMs',
    'catchUp', s.spec -> 'catchUp',
    'overlap', s.spec -> 'overlap',
    'next', case when s.paused_at is null then s.next_at end,
    'queued', s.queued_at,
    'last', case when s.last_at is not null then json_build_object('at', s.last_at, 'run', s.last_run, 'state', (
      select r.state from holdfast.runs r where r.id = s.last_run)) end,
    'paused', case when s.paused_at is not null
      then json_build_object('since', s.paused_at, 'by', s.paused_by, 'reason', s.pause_reason) end,
    'started', s.started_count,
    'skipped', s.skipped_count,
    'failed', s.failed_count,
    'failure', case when s.failed_at is not null
      then json_build_object('at', s.failed_at, 'error', s.last_error, 'isTriedAgain', s.failing_count > 0) end
  ) order by s.workflow), '[]')::text
  from holdfast.schedules s
  where _workflow is null or s.workflow = _workflow
$$;
