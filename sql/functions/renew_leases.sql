-- The heartbeat of a worker and of the claims it holds. Items: id, token, lease_ms. Answers each one's new end in
-- milliseconds since 1970 or, if it was not renewed, `skipped` (its row is locked just now; ask again soon) or why the
-- claim is lost; and `stray` for each further claim that is this worker's by its row: one whose reply may be on its way,
-- or was lost.
--
-- Locked rows are skipped: otherwise one row held by somebody's transaction stops the renewal of all. A worker that was
-- taken for dead and still renews is not: its process was frozen, or cut off.
create or replace function holdfast.renew_leases(_worker uuid, _items json)
returns table (id uuid, token integer, problem text, lease_until_ms double precision)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _ids uuid[] := array(select i.id from json_to_recordset(_items) i (id uuid));
  _renewed uuid[];
  _untils double precision[];
begin
  perform holdfast._require_read_committed();
  with free as materialized (
    select w.id from holdfast.workers w where w.id = _worker for no key update skip locked
  )
  update holdfast.workers w set seen_at = _at, ended_at = null, ended_as = null
  from free
  where w.id = free.id and w.ended_as is distinct from 'stopped';

  with free as materialized (
    select r.id, r.token, i.lease_ms
    from json_to_recordset(_items) i (id uuid, token integer, lease_ms double precision)
    join holdfast.runs r on r.id = i.id and r.token = i.token
    where r.id = any(_ids)
    order by r.depth, r.id
    for no key update of r skip locked
  ), renewed as (
    update holdfast.runs r set lease_until = greatest(r.lease_until, _at + free.lease_ms * interval '1 ms')
    from free
    where r.id = any(_ids) and r.id = free.id and r.token = free.token
    returning r.id, r.lease_until
  )
  select coalesce(array_agg(id), '{}'), array_agg(extract(epoch from lease_until) * 1000)
  into _renewed, _untils from renewed;

  return query
  select i.id, i.token, null, u.until_ms
  from json_to_recordset(_items) i (id uuid, token integer)
  join unnest(_renewed, _untils) u (id, until_ms) on u.id = i.id
  union all
  select i.id, i.token,
    case when r.id is null then holdfast._lost_reason(i.id, i.token) else 'skipped' end, null
  from json_to_recordset(_items) i (id uuid, token integer)
  left join lateral (
    select r.id from holdfast.runs r where r.id = i.id and r.token = i.token limit 1
  ) r on true
  where i.id <> all(_renewed)
  union all
  select r.id, r.token, 'stray', null from holdfast.runs r
  where r.worker_id = _worker and r.token % 2 = 1 and r.id <> all(_ids);
end
$$;
