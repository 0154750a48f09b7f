-- Takes the runs named by tickets under a lease each, one array a column. Answers the runs taken, with the memos they
-- recall and when each lease is over, in milliseconds since 1970; a ticket whose run is gone, taken or not due answers
-- nothing. Of a run that a limit rules it answers only that: claim_lines is to be asked.
--
-- A claim whose reply was lost is asked for again (_is_repeated) with the runs the worker does not hold: those it has
-- all the same, it has from the lost reply, and they are answered as that one would have done, under a lease from now.
--
-- A run is locked by id alone, whatever its state, and its state and signals are read in a later statement: with the
-- state in the locking statement, a signal that arrives while the run suspends is lost.
create or replace function holdfast.claim_runs(_worker uuid, _ids uuid[], _leases_ms double precision[], _is_repeated boolean)
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint,
  max_attempts smallint, deadline_ms double precision, metadata text, input text, input_types text,
  memos text, tries text, lease_until_ms double precision, is_limited boolean, rare text, waited_ms double precision, age_ms double precision,
  past text)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _barred uuid[];
  _limited uuid[];
  _taken uuid[];
  _resumed uuid[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._hold_limits();
  perform 1 from (
    select from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for update of r
  ) locked;
  _at := holdfast._now();
  _barred := array(select c.run_id from holdfast.cancels c where c.run_id = any(_ids));
  if exists (select from holdfast.limits) then
    _limited := array(
      select r.id from holdfast.runs r where r.id = any(_ids) and r.workflow in (select m.workflow from holdfast.limits m));
    _barred := _barred || _limited;
  end if;

  with claimed as (
    update holdfast.runs r
    set state = 'running', token = r.token + 1, worker_id = _worker, claimed_at = _at,
      attempt = r.attempt + case when r.is_resuming then 0 else 1 end,
      lease_until = _at + i.lease_ms * interval '1 ms', recalled = null, reason = null, error = null,
      claim_trace = null
    from unnest(_ids, _leases_ms) i (id, lease_ms)
    where r.id = any(_ids) and r.id = i.id
      and (r.state = 'waiting' or r.state = 'suspended' and holdfast._is_woken(r, _at))
      and (r.deadline_at is null or r.deadline_at > _at)
      and r.id <> all(_barred)
    returning r.id, r.token > 1 as has_past
  ), adopted as (
    update holdfast.runs r
    set lease_until = greatest(r.lease_until, _at + i.lease_ms * interval '1 ms')
    from unnest(_ids, _leases_ms) i (id, lease_ms)
    where _is_repeated and r.id = any(_ids) and r.id = i.id and r.state = 'running' and r.worker_id = _worker
      and r.id <> all(_barred)
    returning r.id
  ), taken as (
    select claimed.id, claimed.has_past from claimed
    union all
    select adopted.id, false from adopted
  )
  select array_agg(taken.id), array_agg(taken.id) filter (where taken.has_past) into _taken, _resumed from taken;
  if _resumed is not null then
    perform holdfast._end_waits(_resumed, _at);
  end if;

  perform holdfast._tell_watchers(_ids);
  return query select * from holdfast._claims(_taken, _at, false, _limited);
end
$$;
