-- For settle_runs: gives on the room that these settled claims left, to the workers that ask for it with a lease. They get
-- it only where runs are set aside: all others have tickets, which know better who is next, and would come to nothing if
-- their runs were handed over. `_given` are the places that were given back before (_give_places): of a claim that was
-- lost, its place is taken again.
create or replace function holdfast._give_room(_worker uuid, _settled uuid[], _ids uuid[], _leases_ms double precision[],
  _given holdfast.line_change[])
returns uuid[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
begin
  return holdfast._fill(_worker, array(
    select row(g.workflow, g.group_key, case when l.aside > 0 then g.wants else 0 end, g.lease_ms, 0, g.freed, 0, 0, 0, 0)::holdfast.line_change
    from (
      select f.workflow, f.group_key, m.is_wide, count(f.lease_ms) as wants, max(f.lease_ms) as lease_ms, sum(f.freed) as freed
      from (
        select r.workflow, coalesce(r.group_key, '') as group_key, _leases_ms[array_position(_ids, r.id)] as lease_ms, 1 as freed
        from holdfast.runs r where r.id = any(_settled)
        union all
        select c.workflow, c.group_key, null, c.freed from unnest(_given) c where c.freed < 0
      ) f
      join holdfast.limits m on m.workflow = f.workflow
      group by f.workflow, f.group_key, m.workflow
    ) g
    join holdfast.lines l
      on l.workflow = any(array[g.workflow]) and l.group_key = case when g.is_wide then '' else g.group_key end and l.is_wide = g.is_wide
    where l.is_wide or l.aside > 0 or g.freed <> 0), '{}');
end
$$;
