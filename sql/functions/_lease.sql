-- A lease as long as asked for (null: the workflow's own), and no longer than the longest that its newest definition on
-- record allows.
create or replace function holdfast._lease(_workflow text, _asked_ms double precision) returns interval
language sql stable as $$
  select coalesce((
    select least(coalesce(_asked_ms, (d.policy ->> 'leaseMs')::double precision),
      (d.policy ->> 'maxLeaseMs')::double precision)
    from holdfast.definitions d where d.workflow = _workflow order by d.applies_from desc limit 1
  ), _asked_ms, 30000) * interval '1 ms'
$$;
