-- Sweep: finds dead workers, unlocks what they had locked in the queue, and forgets those that ended a day ago.
-- Answers how many were found dead, how many are suspected, the time, and whether some have not come back yet since the
-- server was started.
--
-- Dead is who lets both of two tests 500 ms apart take its presence lock, and its claims end at once. Whoever had not been
-- seen for two leases at `_until` is taken for dead too; but if its lock is held it may be busy under a lease that it
-- lengthened, so it is `silent`, and its claims end by their time. `_until` is when the caller last heard of this
-- database (null: never): should this call have waited out an outage, nobody could be seen meanwhile. After a restart of
-- the server every lock is free, so the test counts only under the server start the worker registered with.
create or replace function holdfast.bury_workers(_self uuid, _until timestamptz)
returns table (dead integer, suspected integer, at timestamptz, is_missing boolean)
language plpgsql as $$
declare
  _at timestamptz := holdfast._now();
  _worker record;
  _is_free boolean;
  _is_silent boolean;
begin
  perform holdfast._require_read_committed();
  dead := 0;
  suspected := 0;
  at := _at;
  -- Without their locks: whom another sweeper looks at just now is missing all the same.
  is_missing := exists (
    select from holdfast.workers w
    where w.ended_at is null and w.id <> _self and w.postmaster_started_at <> pg_postmaster_start_time());
  for _worker in
    select w.* from holdfast.workers w where w.ended_at is null and w.id <> _self
    order by w.id for update of w skip locked
  loop
    _is_free := _worker.postmaster_started_at = pg_postmaster_start_time()
      and pg_try_advisory_xact_lock(holdfast._presence_lock(_worker.id));
    _is_silent := coalesce(_worker.seen_at <= _until - 2 * _worker.lease, false);
    if _is_silent or _is_free and _worker.suspected_at <= _at - interval '500 ms' then
      update holdfast.workers w set ended_at = _at, ended_as = case when _is_free then 'dead' else 'silent' end
      where w.id = _worker.id;
      perform holdfast_queue.force_unlock_workers(_worker.pool_ids);
      dead := dead + 1;
    elsif _is_free then
      if _worker.suspected_at is null then
        update holdfast.workers w set suspected_at = _at where w.id = _worker.id;
      end if;
      suspected := suspected + 1;
    elsif _worker.suspected_at is not null then
      update holdfast.workers w set suspected_at = null where w.id = _worker.id;
    end if;
  end loop;
  delete from holdfast.workers w where w.ended_at <= _at - interval '1 day';
  return next;
end
$$;
