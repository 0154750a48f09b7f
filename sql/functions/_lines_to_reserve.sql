-- The lines of limited workflows in which a claim by hand may find runs: each one's own, and those of up to 1,000 of its
-- groups that have waiting runs and are not full.
create or replace function holdfast._lines_to_reserve(_workflows text[], _max integer) returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    with recursive groups as (
      select m.workflow, m.group_concurrency, (
        select min(r.group_key) from holdfast.runs r
        where r.workflow = m.workflow and r.state = 'waiting' and r.group_key is not null) as name
      from holdfast.limits m
      where m.workflow = any(_workflows) and (m.has_groups or not m.is_wide)
      union all
      select g.workflow, g.group_concurrency, (
        select min(r.group_key) from holdfast.runs r
        where r.workflow = g.workflow and r.state = 'waiting' and r.group_key > g.name)
      from groups g where g.name is not null
    ), open as (
      select g.workflow, g.name from groups g
      left join holdfast.lines l on l.workflow = g.workflow and l.group_key = g.name and not l.is_wide
      where g.name is not null and (g.name = '' or g.group_concurrency is null or coalesce(l.live, 0) < g.group_concurrency)
      limit 1000
    )
    select row(l.workflow, l.name, _max, 0, 0, 0, 0, 0, 0, 0)::holdfast.line_change
    from (
      select o.workflow, o.name from open o
      union
      select m.workflow, '' from holdfast.limits m where m.workflow = any(_workflows)
    ) l);
end
$$;
