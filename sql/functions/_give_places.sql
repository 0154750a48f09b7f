-- For settle_runs, before it locks these runs: locks the lines of those that a limit rules, in the order of _lock_lines,
-- and gives back a place for each where a group's line is the lock: in most lines no run is set aside, and nothing else is
-- to be done. Answers changes, one a group, that take back what was given (what is settled frees it again), and want one
-- run where there is more to decide. Null if no limit rules any.
--
-- The update is the lock, as in _take_places.
create or replace function holdfast._give_places(_ids uuid[]) returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _given holdfast.line_change[];
begin
  perform holdfast._hold_limits();
  if not exists (select from holdfast.limits) then
    return null;
  end if;
  with named as (
    select m.workflow, case when m.is_wide then '' else coalesce(r.group_key, '') end as group_key, m.is_wide,
      case when m.is_wide then 0 else count(*)::integer end as places
    from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow
    where r.id = any(_ids)
    group by m.workflow, 2
    order by m.workflow, m.is_wide desc, 2
  ), locked as (
    update holdfast.lines l set live = l.live - n.places, at = greatest(l.at, _at)
    from named n
    where l.workflow = any(array[n.workflow]) and l.group_key = n.group_key and l.is_wide = n.is_wide
    returning l.workflow, l.group_key, n.places, l.is_wide or l.aside > 0 as is_open
  )
  select array_agg(row(k.workflow, k.group_key, k.is_open::integer, null, 0, -k.places, 0, 0, 0, 0)::holdfast.line_change)
  into _given from locked k;
  return _given;
end
$$;
