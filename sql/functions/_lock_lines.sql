-- Locks the lines that these changes are about, and makes those that are not there yet. In the order of all who do: by
-- workflow, the workflow's own line first, then by group.
create or replace function holdfast._lock_lines(_changes holdfast.line_change[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _missing integer;
  _has_groups boolean;
begin
  loop
    -- Those of the groups under a workflow's own line are not locks; theirs is.
    select count(*) filter (where l.workflow is null), bool_or(n.has_groups) into _missing, _has_groups from (
      select distinct m.workflow, case when m.is_wide then '' else c.group_key end as group_key, m.is_wide, m.has_groups
      from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
      order by m.workflow, m.is_wide desc, group_key
    ) n
    left join lateral (
      select l.workflow from holdfast.lines l
      where l.workflow = n.workflow and l.group_key = n.group_key and l.is_wide = n.is_wide
      for update of l
    ) l on true;
    exit when _missing = 0 and (not _has_groups or not exists (
      select from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
      where m.has_groups and (
        select l.workflow from holdfast.lines l
        where l.workflow = c.workflow and l.group_key = c.group_key and not l.is_wide limit 1) is null));

    insert into holdfast.lines (workflow, group_key, is_wide, at)
    select n.workflow, n.group_key, n.is_wide, holdfast._now()
    from (
      select distinct m.workflow, case when m.is_wide then '' else c.group_key end as group_key, m.is_wide
      from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
      union
      select c.workflow, c.group_key, false
      from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow where m.has_groups
    ) n
    order by n.workflow, n.is_wide desc, n.group_key
    on conflict do nothing;
  end loop;
end
$$;
