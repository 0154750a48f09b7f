-- Keeps the lines of groups that are told apart under their workflow's own: what is live and set aside in them, whether
-- they have room, and their best waiting run. How many of their set-aside runs have room is summed up in the workflow's.
create or replace function holdfast._count_groups(_changes holdfast.line_change[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
begin
  with summed as materialized (
    select c.workflow, c.group_key, false as is_wide, sum(c.claimed - c.freed)::integer as live, sum(c.claimed)::integer as claimed,
      sum(c.counted)::integer as counted, sum(c.aside)::integer as aside, sum(c.aside_free)::integer as aside_free,
      m.group_concurrency, m.group_rate, m.group_rate_per
    from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
    where m.has_groups
    group by c.workflow, c.group_key, m.workflow
  ), counted as materialized (
    select s.*, l.ready as was_ready, l.live + s.live as now_live, l.aside + s.aside as now_aside,
      l.aside_free + s.aside_free as now_free,
      holdfast._slots_left(case when s.group_key <> '' then s.group_concurrency end, l.live + s.live) as slots,
      case when s.group_key <> '' then holdfast._ring_add(l.ring, s.group_rate, s.group_rate_per, _at, s.counted) end as now_ring
    from summed s join holdfast.lines l
      on l.workflow = any(array[s.workflow]) and l.group_key = s.group_key and l.is_wide = s.is_wide
  ), judged as materialized (
    select c.*, h.*, case when c.group_key = '' or c.group_rate is null then 1000
        else holdfast._rate_left(c.group_rate, c.group_rate_per, c.now_ring, _at) end as rate_left
    from counted c left join lateral (
      select r.rank, r.due_at, r.id from holdfast.waiting_runs r
      where r.workflow = c.workflow and r.group_key = c.group_key and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit 1
    ) h on true
  ), kept as (
    update holdfast.lines l
    set live = j.now_live, aside = j.now_aside, aside_free = j.now_free, at = _at, ring = j.now_ring,
      ready = least(j.slots, least(j.rate_left, j.now_aside - j.now_free) + j.now_free),
      is_open = j.slots > 0 and j.rate_left > 0,
      open_at = case when j.rate_left < least(j.slots, j.now_aside - j.now_free)
        then holdfast._rate_opens_at(j.group_rate_per, j.now_ring, _at) end,
      head_rank = j.rank, head_due_at = j.due_at, head_id = j.id,
      served = case when j.claimed > 0 then (
        select w.served + 1 from holdfast.lines w where w.workflow = l.workflow and w.group_key = '' and w.is_wide)
        else l.served end
    from judged j
    where l.workflow = any(array[j.workflow]) and l.group_key = j.group_key and l.is_wide = j.is_wide
    returning l.workflow, l.ready - j.was_ready as more
  )
  update holdfast.lines w set ready = w.ready + k.more, served = w.served + 1
  from (select workflow, '' as group_key, true as is_wide, sum(more)::integer as more from kept group by workflow) k
  where w.workflow = any(array[k.workflow]) and w.group_key = k.group_key and w.is_wide = k.is_wide;
end
$$;
