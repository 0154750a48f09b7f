-- Lets a workflow's schedule start no run until it is resumed; those started go on. Pausing it again changes who and why.
create or replace function holdfast.pause_schedule(_workflow text, _by text, _reason text) returns void
language plpgsql as $$
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_schedule(_workflow);
  update holdfast.schedules s
  set turn = s.turn + 1, paused_at = coalesce(s.paused_at, holdfast._now()), paused_by = _by, pause_reason = _reason
  where s.workflow = _workflow;
end
$$;
