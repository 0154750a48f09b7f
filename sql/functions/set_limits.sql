-- Sets limits of a workflow over those its code says, at once and for all processes. `_limits` has those to set, of
-- concurrency, concurrencyPerGroup, rate and ratePerGroup ({ limit, perMs }; null: no cap) and isFair; others stay as they
-- were set. Answers the limits in force. A workflow that nobody has put on record is refused (WF002), as are groups' limits
-- where runs have no groups, and numbers below 1 (WF008).
create or replace function holdfast.set_limits(_workflow text, _limits json, _by text) returns text
language plpgsql as $$
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_known(_workflow);
  perform holdfast._check_limits(_workflow, _limits::jsonb);
  insert into holdfast.overrides as o (workflow, limits, limits_by, limits_at)
  values (_workflow, _limits, _by, holdfast._now())
  on conflict (workflow) do update
  set limits = (coalesce(o.limits::jsonb, '{}') || _limits::jsonb)::json, limits_by = _by, limits_at = holdfast._now();
  perform holdfast._apply_limits(array[_workflow]);
  return holdfast._limits_said(_workflow)::text;
end
$$;
