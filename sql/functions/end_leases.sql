-- Sweep: ends claims whose lease ran out before `_until` or whose worker has died since. The run is due again at once, or
-- failed with `lease_expired` if that was its last attempt. Answers how many were ended.
--
-- `_until` is when the caller last heard of this database: should this call have waited out an outage, in which nobody
-- could renew, what ran out meanwhile is none of its business.
-- `_is_by_hand`: only claims that were reserved, which no worker on record holds.
-- A worker that claims after it was found dead is alive after all, and its lease counts.
-- The condition stands again where the runs are locked: a renewal may have come after the look.
create or replace function holdfast.end_leases(_limit integer, _until timestamptz, _is_by_hand boolean default false)
returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _lapsed uuid[];
  _lines holdfast.line_change[];
  _ended uuid[];
  _failed uuid[];
begin
  perform holdfast._require_read_committed();
  _lapsed := array(
    select r.id from holdfast.runs r
    where r.token % 2 = 1 and (r.lease_until <= _until
      or exists (
        select from holdfast.workers w
        where w.id = r.worker_id and w.ended_as = 'dead' and w.ended_at >= r.claimed_at))
      and not (_is_by_hand and exists (select from holdfast.workers w where w.id = r.worker_id))
    limit _limit);
  _lines := holdfast._lines_of(_lapsed);
  _lapsed := array(
    select r.id from holdfast.runs r where r.id = any(_lapsed) and r.token % 2 = 1 and (r.lease_until <= _until
      or exists (
        select from holdfast.workers w
        where w.id = r.worker_id and w.ended_as = 'dead' and w.ended_at >= r.claimed_at))
    order by r.depth, r.id
    for update of r skip locked);
  if _lines is not null then
    _lines := holdfast._leave_lines(_lapsed);
  end if;
  with ended as (
    update holdfast.runs r
    set token = r.token + 1, is_resuming = false, is_rate_free = false, lease_until = null, recalled = null,
      set_aside_at = null, set_aside_for = null,
      state = case when r.attempt >= r.max_attempts then 'failed' else 'waiting' end,
      failure = case when r.attempt >= r.max_attempts then 'lease_expired' end,
      ended_at = case when r.attempt >= r.max_attempts then _at end,
      reason = 'The worker that ran it stopped renewing its lease.'
    where r.id = any(_lapsed) and r.token % 2 = 1
    returning r.id
  )
  select array_agg(ended.id) into _ended from ended;

  insert into holdfast.claims (run_id, token, attempt, worker_id, began_at, ended_at, outcome, reason, trace)
  select r.id, r.token - 1, r.attempt, r.worker_id, r.claimed_at, _at, 'lease_lost', r.reason, r.claim_trace
  from holdfast.runs r where r.id = any(_ended);
  perform holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at)
      order by r.priority desc, r.due_at, r.id)
    from holdfast.runs r where r.id = any(_ended) and r.state || '' = 'waiting'));
  if cardinality(_lines) > 0 then
    perform holdfast._fill(null, _lines, '{}');
  end if;
  _failed := array(select r.id from holdfast.runs r where r.id = any(_ended) and r.state || '' = 'failed');
  perform holdfast._follow_ends(_failed, _failed, _at);
  perform holdfast._tell_watchers(_ended);
  return coalesce(cardinality(_ended), 0);
end
$$;
