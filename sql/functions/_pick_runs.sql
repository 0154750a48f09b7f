-- Which waiting runs these lines would let begin at `_at`, best first, no more than each change wants: under the lines'
-- locks, for _fill.
--
-- Of a workflow whose groups are told apart, the best are looked for among the groups that have room and whose best run is
-- known, never among the rows of full groups, of which there may be any number. With `is_fair` the group that has waited
-- longest for its turn is the best.
create or replace function holdfast._pick_runs(_changes holdfast.line_change[], _named uuid[], _at timestamptz)
returns uuid[]
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _picked uuid[];
begin
  with lines as materialized (
    select a.*, least(a.wants, holdfast._slots_left(case when a.is_paused then 0 when a.is_wide then a.concurrency
        when a.group_key <> '' then a.group_concurrency end, l.live - a.freed)) as take,
      case when a.is_wide then case when a.rate is null then a.wants
          else holdfast._rate_left(a.rate, a.rate_per, l.ring, _at) end
        when a.group_rate is null or a.group_key = '' then a.wants
        else holdfast._rate_left(a.group_rate, a.group_rate_per, l.ring, _at) end as counted
    from (
      select m.workflow, case when m.is_wide then '' else c.group_key end as group_key, m.is_wide, m.has_groups,
        m.is_fair, m.is_paused, m.concurrency, m.rate, m.rate_per, m.group_concurrency, m.group_rate, m.group_rate_per,
        sum(c.wants)::integer as wants, sum(c.freed)::integer as freed
      from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
      group by 1, 2, m.workflow
    ) a
    join holdfast.lines l on l.workflow = any(array[a.workflow]) and l.group_key = a.group_key and l.is_wide = a.is_wide
    where a.wants > 0
  ), simple as (
    select l.workflow, l.group_key, l.take, l.counted, b.id, b.rank, b.due_at, b.is_rate_free, null::bigint as turn,
      0::bigint as served
    from lines l cross join lateral (
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where not l.is_wide and l.counted >= l.take and l.group_key <> '' and r.workflow = l.workflow
        and r.group_key = l.group_key and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit l.take)
      union all
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where l.is_wide and not l.has_groups and l.counted >= l.take and r.workflow = l.workflow
        and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit l.take)
    ) b
    where l.take > 0
    union all
    select l.workflow, l.group_key, l.take, l.counted, b.id, b.rank, b.due_at, b.is_rate_free, null, 0
    from lines l cross join lateral holdfast._best_runs(l.workflow, case when not l.is_wide then l.group_key end, l.take,
      l.counted, _named, _at) b
    where l.take > 0 and not l.has_groups and (l.counted < l.take or not l.is_wide and l.group_key = '')
  ), groups as (
    select l.*, g.group_key as name, g.served, holdfast._slots_left(
        case when g.group_key <> '' then l.group_concurrency end, g.live - g.freed) as room,
      case when l.group_rate is null or g.group_key = '' then l.take
        else holdfast._rate_left(l.group_rate, l.group_rate_per, g.ring, _at) end as group_counted
    from lines l cross join lateral (
      select o.group_key, o.live, o.ring, o.served, coalesce((
        select sum(c.freed)::integer from unnest(_changes) c
        where c.workflow = l.workflow and c.group_key = o.group_key), 0) as freed
      from (
        select c.group_key from unnest(_changes) c where c.workflow = l.workflow
        union
        (select h.group_key from holdfast.lines h
        where not l.is_fair and h.workflow = l.workflow and h.head_id is not null and h.is_open
        order by h.head_rank, h.head_due_at, h.head_id limit l.take)
        union
        (select h.group_key from holdfast.lines h
        where l.is_fair and h.workflow = l.workflow and h.head_id is not null and h.is_open
        order by h.served, h.head_rank, h.head_due_at, h.head_id limit l.take)
        union
        (select coalesce(r.group_key, '') from holdfast.runs r
        where l.counted < l.take and r.workflow = l.workflow and r.state = 'waiting' and r.is_rate_free
        order by -1 - r.priority, r.due_at, r.id limit l.take)
      ) known
      cross join lateral (
        select o.group_key, o.live, o.ring, o.served from holdfast.lines o
        where o.workflow = l.workflow and o.group_key = known.group_key and not o.is_wide limit 1
      ) o
    ) g
    where l.take > 0 and l.has_groups
  ), grouped as (
    select g.workflow, g.group_key, g.take, g.counted, b.id, b.rank, b.due_at, b.is_rate_free,
      case when g.is_fair then row_number() over (
        partition by g.workflow, g.name order by b.rank, b.due_at, b.id) end as turn, g.served
    from groups g cross join lateral holdfast._best_runs(g.workflow, g.name, least(g.room, g.take), g.group_counted,
      _named, _at) b
    where g.room > 0
  ), counted as (
    select c.*, count(*) filter (where not c.is_rate_free) over (
      partition by c.workflow, c.group_key order by c.turn, c.served, c.rank, c.due_at, c.id) as starts
    from (select * from simple union all select * from grouped) c
  ), placed as (
    select c.*, row_number() over (
      partition by c.workflow, c.group_key order by c.turn, c.served, c.rank, c.due_at, c.id) as place
    from counted c where c.is_rate_free or c.starts <= c.counted
  )
  select array_agg(p.id order by p.turn, p.served, p.rank, p.due_at, p.id) into _picked
  from placed p where p.place <= p.take;
  return coalesce(_picked, '{}');
end
$$;
