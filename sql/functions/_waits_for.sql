-- What a run of this group waits for that has no room under these limits, after these changes: `concurrency`, `rate` or
-- `pause`.
create or replace function holdfast._waits_for(_limits holdfast.limits, _group text, _changes holdfast.line_change[])
returns text
language sql stable as $$
  select case
    when _limits.is_paused then 'pause'
    when _limits.rate is null and _limits.group_rate is null then 'concurrency'
    when _limits.concurrency is null and _limits.group_concurrency is null then 'rate'
    when exists (
      select from holdfast.lines l
      where l.workflow = any(array[_limits.workflow]) and (l.is_wide and l.group_key = '' or not l.is_wide and l.group_key = _group)
        and case when l.is_wide then _limits.concurrency when _group <> '' then _limits.group_concurrency end <= l.live + (
          select coalesce(sum(c.claimed - c.freed), 0) from unnest(_changes) c
          where c.workflow = _limits.workflow and (l.is_wide or c.group_key = _group))) then 'concurrency'
    else 'rate'
  end
$$;
