-- Lets no run of the workflow begin until it is resumed; those that run go on. Pausing it again changes who and why.
create or replace function holdfast.pause_workflow(_workflow text, _by text, _reason text) returns void
language plpgsql as $$
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_known(_workflow);
  insert into holdfast.overrides as o (workflow, paused_at, paused_by, pause_reason)
  values (_workflow, holdfast._now(), _by, _reason)
  on conflict (workflow) do update
  set paused_at = coalesce(o.paused_at, excluded.paused_at), paused_by = excluded.paused_by, pause_reason = excluded.pause_reason;
  perform holdfast._apply_limits(array[_workflow]);
end
$$;
