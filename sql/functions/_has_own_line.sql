-- Whether a run's line is its group's: where groups have limits or turns of their own. Else it is its workflow's.
create or replace function holdfast._has_own_line(_run holdfast.runs) returns boolean
language sql stable as $$
  select (_run).group_key is not null and exists (
    select from holdfast.limits m where m.workflow = (_run).workflow and (m.has_groups or not m.is_wide))
$$;
