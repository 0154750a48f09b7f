-- Lets a paused schedule go on with the first instant after now: nothing that passed before is made up for. Answers
-- whether it was paused.
create or replace function holdfast.resume_schedule(_workflow text) returns boolean
language plpgsql as $$
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_schedule(_workflow);
  update holdfast.schedules s
  set turn = s.turn + 1, past_at = date_trunc('milliseconds', holdfast._now()), next_at = null, queued_at = null,
    failing_count = 0, retry_at = null, paused_at = null, paused_by = null, pause_reason = null
  where s.workflow = _workflow and s.paused_at is not null;
  if not found then
    return false;
  end if;
  perform holdfast._notify('schedules');
  return true;
end
$$;
