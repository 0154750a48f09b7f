-- For settle_runs: gives on the room that these settled claims left, to the workers that ask for it with a lease.
create or replace function holdfast._give_room(_worker uuid, _settled uuid[], _ids uuid[], _leases_ms double precision[])
returns uuid[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
begin
  return holdfast._fill(_worker, array(
    select row(r.workflow, coalesce(r.group_key, ''), count(i.lease_ms), max(i.lease_ms), 0, count(*), 0, 0, 0, 0)::holdfast.line_change
    from holdfast.runs r
    join holdfast.limits m on m.workflow = r.workflow
    left join unnest(_ids, _leases_ms) i (id, lease_ms) on i.id = r.id
    where r.id = any(_settled)
    group by r.workflow, coalesce(r.group_key, '')), '{}');
end
$$;
