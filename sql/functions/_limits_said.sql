-- What a workflow's newest definition says of its limits, under what an operator has set.
create or replace function holdfast._limits_said(_workflow text) returns jsonb
language sql stable as $$
  select coalesce((
    select (d.policy -> 'limits')::jsonb from holdfast.definitions d where d.workflow = _workflow
    order by d.applies_from desc, d.fingerprint limit 1), '{}')
    || coalesce((select o.limits::jsonb from holdfast.overrides o where o.workflow = _workflow), '{}')
$$;
