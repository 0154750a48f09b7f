-- For _count_lines: issues further tickets of these lines, as many as each change says, with the priorities and due times
-- of the best that wait. Their numbers are the last that the line counts as issued.
create or replace function holdfast._issue_line_tickets(_owed holdfast.line_change[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _tickets holdfast_queue.job_spec[];
begin
  with due as (
    select o.workflow, o.group_key, m.is_wide, b.rank, b.due_at, l.issued - o.tickets + row_number() over (
      partition by o.workflow, o.group_key order by b.rank, b.due_at, b.id) as number
    from unnest(_owed) o
    join holdfast.limits m on m.workflow = o.workflow
    join holdfast.lines l on l.workflow = any(array[o.workflow]) and l.group_key = o.group_key and l.is_wide = m.is_wide
    cross join lateral (
      (select -1 - r.priority as rank, r.due_at, r.id from holdfast.runs r
      where not m.is_wide and r.workflow = o.workflow and r.group_key = o.group_key and r.state = 'waiting'
      order by -1 - r.priority, r.due_at, r.id limit o.tickets)
      union all
      (select -1 - r.priority, r.due_at, r.id from holdfast.runs r
      where m.is_wide and r.workflow = o.workflow and r.state = 'waiting'
      order by -1 - r.priority, r.due_at, r.id limit o.tickets)
    ) b
  )
  select array_agg(holdfast._line_ticket(d.workflow, d.group_key, d.is_wide, d.number, d.rank, d.due_at) order by d.rank, d.due_at)
  into _tickets from due d;
  perform holdfast._issue_tickets(_tickets);
end
$$;
