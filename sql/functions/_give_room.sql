-- For settle_runs: gives on the room that these settled claims left, to the workers that ask for it with a lease.
create or replace function holdfast._give_room(_worker uuid, _settled uuid[], _ids uuid[], _leases_ms double precision[])
returns uuid[]
language sql volatile as $$
  select holdfast._fill(_worker, array_agg(g.l), '{}') from (
    select row(r.workflow, coalesce(r.group_key, ''), count(i.lease_ms), max(i.lease_ms), 0, count(*), 0, 0, 0, 0)::holdfast.line_change as l
    from holdfast.runs r
    join holdfast.limits m on m.workflow = r.workflow
    left join unnest(_ids, _leases_ms) i (id, lease_ms) on i.id = r.id
    where r.id = any(_settled)
    group by r.workflow, coalesce(r.group_key, '')
  ) g
$$;
