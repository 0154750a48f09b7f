-- For settle_runs, before it locks these runs: locks the lines of those that a limit rules, in the order of _lock_lines,
-- and gives a place back for each where a group's line is the lock. Unless runs are set aside there, nothing else is to be
-- done: `_open` are the changes of lines where they are, wanting as many as may begin at once if no rate rules them.
-- `_workflows` are those whose places were given back, `_places` how many; `_has_wide` says that there are lines of whole
-- workflows too, where nothing has happened. `_at` is the instant; null if no limit rules any.
--
-- The update is the lock, as in _take_places.
create or replace function holdfast._give_places(_ids uuid[], out _open holdfast.line_change[], out _workflows text[],
  out _places integer, out _has_wide boolean, out _at timestamptz)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _now timestamptz;
begin
  perform holdfast._hold_limits();
  if not exists (select from holdfast.limits) then
    return;
  end if;
  _now := holdfast._now();
  with named as (
    select m.workflow, case when m.is_wide then '' else coalesce(r.group_key, '') end as group_key, m.is_wide,
      case when m.is_wide then 0 else count(*)::integer end as places,
      case when m.group_rate is null then coalesce(m.group_concurrency, 2147483647) else 0 end as most
    from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow
    where r.id = any(_ids)
    group by m.workflow, 2
    order by m.workflow, m.is_wide desc, 2
  ), locked as (
    update holdfast.lines l set live = l.live - n.places, at = greatest(l.at, _now)
    from named n
    where l.workflow = any(array[n.workflow]) and l.group_key = n.group_key and l.is_wide = n.is_wide
    returning l.workflow, l.group_key, l.is_wide, n.places, case when l.group_key = '' then 0 else n.most - l.live end as room,
      l.aside, l.at
  )
  select array_agg(row(k.workflow, k.group_key, k.room, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change)
      filter (where not k.is_wide and k.aside > 0),
    array_agg(distinct k.workflow) filter (where not k.is_wide), coalesce(sum(k.places), 0), bool_or(k.is_wide),
    max(k.at)
  into _open, _workflows, _places, _has_wide, _at from locked k;
  -- Read with the locks in hand: what they were waited for has gone before.
  _at := greatest(holdfast._now(), _at);
end
$$;
