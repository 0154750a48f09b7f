-- Lets runs of a paused workflow begin again. Answers whether it was paused.
create or replace function holdfast.resume_workflow(_workflow text) returns boolean
language plpgsql as $$
declare
  _was_paused boolean;
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_known(_workflow);
  update holdfast.overrides o set paused_at = null, paused_by = null, pause_reason = null
  where o.workflow = _workflow and o.paused_at is not null;
  _was_paused := found;
  perform holdfast._apply_limits(array[_workflow]);
  return _was_paused;
end
$$;
