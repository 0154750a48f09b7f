-- For claims with tickets in hand, one array a column: locks their lines in the order of _lock_lines, and takes the places
-- at once in every line that has room for all that come and where no run is set aside. There is nothing to decide in
-- those: the best that wait there begin. Answers their changes as `_booked`, those of the other lines as `_others`, of
-- which some may not exist yet and are not locked then, and the instant.
--
-- The update is the lock, so that a line is looked up and written once. It meets the lines in the order they are named in.
create or replace function holdfast._take_places(_workflows text[], _groups text[], _leases_ms double precision[],
  out _booked holdfast.line_change[], out _others holdfast.line_change[], out _at timestamptz)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _count integer;
begin
  _at := holdfast._now();
  with named as (
    select m.workflow, case when m.is_wide then '' else coalesce(t.group_key, '') end as group_key, m.is_wide,
      case when m.is_wide or m.group_rate is not null or coalesce(t.group_key, '') = '' then -1
        else coalesce(m.group_concurrency, 2147483647) end as most,
      count(*)::integer as wants, max(t.lease_ms) as lease_ms
    from unnest(_workflows, _groups, _leases_ms) t (workflow, group_key, lease_ms)
    join holdfast.limits m on m.workflow = t.workflow
    group by m.workflow, 2, 4
    order by m.workflow, m.is_wide desc, 2
  ), locked as (
    update holdfast.lines l
    set booked = case when l.aside = 0 and l.live + n.wants <= n.most then n.wants else 0 end,
      live = l.live + case when l.aside = 0 and l.live + n.wants <= n.most then n.wants else 0 end,
      at = greatest(l.at, _at)
    from named n
    where l.workflow = any(array[n.workflow]) and l.group_key = n.group_key and l.is_wide = n.is_wide
    returning n.workflow, n.group_key, n.lease_ms, l.booked, l.at
  )
  select coalesce(array_agg(row(k.workflow, k.group_key, k.booked, k.lease_ms, k.booked, 0, 0, 0, 0, 0)::holdfast.line_change)
      filter (where k.booked > 0), '{}'), coalesce(sum(k.booked), 0), max(k.at)
  into _booked, _count, _at from locked k;
  -- Read with the locks in hand: what they were waited for has gone before.
  _at := greatest(holdfast._now(), _at);
  _others := '{}';
  if _count < cardinality(_workflows) then
    _others := array(
      select row(t.workflow, t.name, count(*), max(t.lease_ms), count(*), 0, 0, 0, 0, 0)::holdfast.line_change
      from (
        select t.workflow, coalesce(t.group_key, '') as name, t.lease_ms
        from unnest(_workflows, _groups, _leases_ms) t (workflow, group_key, lease_ms)
        join holdfast.limits m on m.workflow = t.workflow
      ) t
      where not exists (select from unnest(_booked) b where b.workflow = t.workflow and b.group_key = t.name)
      group by t.workflow, t.name);
  end if;
end
$$;
