-- Removes the lines of these groups that nothing runs or waits in and no rate remembers. What somebody has locked stays.
create or replace function holdfast._remove_lines(_workflows text[], _groups text[]) returns void
language sql volatile as $$
  with idle as materialized (
    select l.workflow, l.group_key from holdfast.lines l
    join holdfast.limits m on m.workflow = l.workflow
    join unnest(_workflows, _groups) i (workflow, group_key) on i.workflow = l.workflow and i.group_key = l.group_key
    where not l.is_wide and l.group_key <> '' and l.live = 0 and l.aside = 0
      and l.at <= holdfast._now() - interval '10 minutes' - coalesce(m.group_rate_per, interval '0')
      -- Under the workflow's own line, that one is the lock.
      and (not m.is_wide or exists (
        select from holdfast.lines w where w.workflow = l.workflow and w.group_key = '' and w.is_wide for update skip locked))
    for update of l skip locked
  )
  delete from holdfast.lines l using idle i
  where l.workflow = i.workflow and l.group_key = i.group_key and not l.is_wide and l.live = 0 and l.aside = 0
$$;
