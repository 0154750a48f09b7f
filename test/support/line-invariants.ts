/** What must hold of the lines at every commit; each query answers what breaks it. */
export const lineInvariants: Readonly<Record<string, string>> = {
  'a line counts other live runs than there are': `
    select l.workflow, l.group_key, l.live, count(r.id)::int as counted
    from holdfast.lines l join holdfast.limits m on m.workflow = l.workflow
    left join holdfast.runs r on r.workflow = l.workflow and r.state = 'running'
      and (l.is_wide or coalesce(r.group_key, '') = l.group_key)
    where case when l.is_wide then m.is_wide else not m.is_wide or m.has_groups end
    group by 1, 2, 3, l.is_wide having l.live <> count(r.id)`,
  'a line counts other set-aside runs than there are': `
    select l.workflow, l.group_key, l.aside, count(r.id)::int as counted
    from holdfast.lines l join holdfast.limits m on m.workflow = l.workflow
    left join holdfast.runs r on r.workflow = l.workflow and r.is_set_aside
      and (l.is_wide or coalesce(r.group_key, '') = l.group_key)
    where case when l.is_wide then m.is_wide else not m.is_wide or m.has_groups end
    group by 1, 2, 3, l.aside_free, l.is_wide
    having l.aside <> count(r.id) or l.aside_free <> count(r.id) filter (where r.is_rate_free)`,
  'a run is set aside that no line knows': `
    select r.id, r.workflow, r.group_key from holdfast.runs r left join holdfast.limits m on m.workflow = r.workflow
    where r.is_set_aside and not exists (
      select from holdfast.lines l where l.workflow = r.workflow and l.is_wide = m.is_wide
        and (l.is_wide or l.group_key = coalesce(r.group_key, '')))`,
  'more tickets are owed to set-aside runs than there are': `
    select l.workflow, l.group_key, l.aside, l.owed, count(j.id)::int as tickets
    from holdfast.lines l join holdfast.limits m on m.workflow = l.workflow and m.is_wide = l.is_wide
    left join holdfast_queue._private_jobs j
      join holdfast_queue._private_tasks t on t.id = j.task_id
      on t.identifier = l.workflow and j.attempts < j.max_attempts
        and (l.is_wide or coalesce(j.payload ->> 'group', '') = l.group_key)
    group by l.workflow, l.group_key, l.is_wide, l.aside, l.owed
    having l.owed > count(j.id)`,
  'less is owed than there is room for set-aside runs': `
    select l.workflow, l.group_key, l.live, l.aside, l.owed
    from holdfast.lines l join holdfast.limits m on m.workflow = l.workflow and m.is_wide = l.is_wide
    where l.open_at is null and not m.is_paused and l.aside > 0
      and case when l.is_wide then m.rate is null else m.group_rate is null end
      and l.owed < least(l.aside - (
        -- What is past its deadline, or asked to be cancelled, is claimed by nobody and goes soon.
        select count(*) from holdfast.runs r where r.workflow = l.workflow and r.is_set_aside
          and (l.is_wide or coalesce(r.group_key, '') = l.group_key)
          and (r.deadline_at <= now() or exists (select from holdfast.cancels c where c.run_id = r.id))), case when m.has_groups then l.ready end,
        coalesce(case when l.is_wide then m.concurrency else m.group_concurrency end, 1000) - l.live)`,
}
