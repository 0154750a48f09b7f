-- Takes back what was set over the code's limits: these names, or all (null). Answers the limits in force.
create or replace function holdfast.unset_limits(_workflow text, _names text[], _by text) returns text
language plpgsql as $$
begin
  perform holdfast._require_read_committed();
  perform holdfast._require_known(_workflow);
  update holdfast.overrides o
  set limits = case when _names is not null then nullif(o.limits::jsonb - _names, '{}')::json end, limits_by = _by,
    limits_at = holdfast._now()
  where o.workflow = _workflow;
  perform holdfast._apply_limits(array[_workflow]);
  return holdfast._limits_said(_workflow)::text;
end
$$;
