-- For settle_runs: gives on the room that these settled claims left, to the workers that ask for it with a lease. They get
-- it only where runs are set aside: all others have tickets, which know better who is next, and would come to nothing if
-- their runs were handed over. `_open` is of _give_places; `_has_lost` says that some of `_ids` were not settled: their
-- places, which were given back like the others, are taken again. Answers the runs that began.
create or replace function holdfast._give_room(_worker uuid, _settled uuid[], _ids uuid[], _leases_ms double precision[],
  _open holdfast.line_change[], _has_lost boolean, _at timestamptz) returns uuid[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _booked holdfast.line_change[];
  _changes holdfast.line_change[];
  _begun record;
  _taken uuid[] := '{}';
begin
  with asked as (
    select o.workflow, o.group_key, count(*) as places, least(count(i.lease_ms), greatest(0, o.wants))::integer as takes,
      max(i.lease_ms) as lease_ms
    from unnest(_ids, _leases_ms) i (id, lease_ms)
    join holdfast.runs r on r.id = i.id
    join unnest(_open) o on o.workflow = r.workflow and o.group_key = coalesce(r.group_key, '')
    where r.id = any(_settled)
    group by o.workflow, o.group_key, o.wants
  )
  select array_agg(row(a.workflow, a.group_key, a.takes, a.lease_ms, 0, 0, 0, 0, 0, 0)::holdfast.line_change) filter (where a.takes > 0),
    coalesce(array_agg(row(a.workflow, a.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change)
      filter (where a.takes < a.places), '{}')
  into _booked, _changes from asked a;
  _changes := _changes || array(
    select row(g.workflow, g.group_key, case when l.aside > 0 then g.wants else 0 end, g.lease_ms, 0, g.freed, 0, 0, 0, 0)::holdfast.line_change
    from (
      select r.workflow, coalesce(r.group_key, '') as group_key, count(i.lease_ms) as wants, max(i.lease_ms) as lease_ms, count(*) as freed
      from unnest(_ids, _leases_ms) i (id, lease_ms)
      join holdfast.runs r on r.id = i.id
      join holdfast.limits m on m.workflow = r.workflow and m.is_wide
      where r.id = any(_settled)
      group by r.workflow, coalesce(r.group_key, '')
    ) g
    join holdfast.lines l on l.workflow = any(array[g.workflow]) and l.group_key = '' and l.is_wide);

  if _has_lost then
    _changes := _changes || _booked || array(
      select row(r.workflow, coalesce(r.group_key, ''), 0, null, 0, -1, 0, 0, 0, 0)::holdfast.line_change
      from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow
      where r.id = any(_ids) and r.id <> all(_settled) and not m.is_wide);
  elsif _booked is not null then
    _begun := holdfast._begin_best(_worker, _booked, '{}', _at);
    _taken := _begun._taken;
    perform holdfast._count_lines(_begun._changes || array(
      select row(b.workflow, b.group_key, 0, null, 0, 0, b.wants, 0, 0, 0)::holdfast.line_change from unnest(_booked) b), _at);
  end if;
  if cardinality(_changes) > 0 then
    _taken := _taken || holdfast._fill(_worker, _changes, '{}');
  end if;
  return _taken;
end
$$;
