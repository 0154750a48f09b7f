-- Puts a worker on record, or back on record after its sessions were lost. Item: id, name, workflows, slots, lease_ms,
-- pool_ids, has_locks (it holds its advisory locks in this server's present life).
create or replace function holdfast.register_worker(_worker json) returns void
language sql volatile as $$
  insert into holdfast.workers as w (id, name, workflows, slots, lease, pool_ids, postmaster_started_at, started_at,
    seen_at)
  select i.id, i.name, i.workflows, i.slots, i.lease_ms * interval '1 ms', i.pool_ids,
    case when i.has_locks then pg_postmaster_start_time() end, holdfast._now(), holdfast._now()
  from json_to_record(_worker) i (id uuid, name text, workflows text[], slots integer, lease_ms double precision,
    pool_ids text[], has_locks boolean)
  on conflict (id) do update
  set pool_ids = (select array_agg(distinct p) from unnest(w.pool_ids || excluded.pool_ids) p),
    postmaster_started_at = excluded.postmaster_started_at, seen_at = excluded.seen_at, suspected_at = null,
    ended_at = null, ended_as = null
$$;
