-- Keeps the lines that are locks: what is live and set aside, which starts count for a rate, and how many tickets are
-- owed; and issues those, with the priority and due time of the best that wait.
--
-- Before this decision `owed` tickets were in the queue at least, of which it has used up some. If it found less to begin
-- than it could have, there is nothing that could, whatever is set aside, and no ticket is owed.
create or replace function holdfast._count_lines(_changes holdfast.line_change[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _owed holdfast.line_change[];
  _is_soon boolean;
begin
  with summed as materialized (
    select m.workflow, case when m.is_wide then '' else c.group_key end as group_key, m.is_wide, m.has_groups, m.is_paused,
      case when m.is_wide then m.concurrency when c.group_key <> '' then m.group_concurrency end as concurrency,
      case when m.is_wide then m.rate when c.group_key <> '' then m.group_rate end as rate,
      case when m.is_wide then m.rate_per else m.group_rate_per end as rate_per,
      sum(c.claimed - c.freed)::integer as live, sum(c.counted)::integer as counted, sum(c.aside)::integer as aside,
      sum(c.aside_free)::integer as aside_free, sum(c.tickets)::integer as tickets,
      sum(c.wants) > 0 and sum(c.claimed) = 0 as is_dry
    from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
    group by m.workflow, 2, 6, 7
  ), counted as materialized (
    select s.*, l.live + s.live as now_live, l.aside + s.aside as now_aside, l.aside_free + s.aside_free as now_free,
      case when s.is_paused then 0 else holdfast._slots_left(s.concurrency, l.live + s.live) end as slots,
      holdfast._ring_add(l.ring, s.rate, s.rate_per, _at, s.counted) as now_ring,
      greatest(0, l.owed - s.tickets) as left_owed, l.ready, l.open_at as was_open_at
    from summed s join holdfast.lines l
      on l.workflow = any(array[s.workflow]) and l.group_key = s.group_key and l.is_wide = s.is_wide
  ), rated as materialized (
    select c.*, case when c.rate is null then 1000 else holdfast._rate_left(c.rate, c.rate_per, c.now_ring, _at) end as rate_left
    from counted c
  ), judged as materialized (
    select r.*, case when r.is_dry then 0 else
        least(r.slots, least(r.rate_left, r.now_aside - r.now_free) + r.now_free, case when r.has_groups then r.ready end)
      end as now_owed,
      case when r.rate_left < least(r.slots, r.now_aside - r.now_free)
        then holdfast._rate_opens_at(r.rate_per, r.now_ring, _at) end as opens_at
    from rated r
  ), kept as (
    update holdfast.lines l
    set live = j.now_live, aside = j.now_aside, aside_free = j.now_free, at = greatest(l.at, _at), ring = j.now_ring, owed = j.now_owed,
      issued = l.issued + greatest(0, j.now_owed - j.left_owed), open_at = j.opens_at
    from judged j
    where l.workflow = any(array[j.workflow]) and l.group_key = j.group_key and l.is_wide = j.is_wide
    returning l.workflow, l.group_key, j.now_owed - j.left_owed as more,
      j.opens_at < coalesce(j.was_open_at, 'infinity') and j.opens_at <= _at + interval '5 s' as is_soon
  )
  select array_agg(row(k.workflow, k.group_key, 0, null, k.more, 0, 0, 0, 0, 0)::holdfast.line_change) filter (where k.more > 0),
    bool_or(k.is_soon)
  into _owed, _is_soon from kept k;
  if _owed is not null then
    perform holdfast._issue_line_tickets(_owed);
  end if;
  if _is_soon then
    perform holdfast._notify('due');
  end if;
end
$$;
