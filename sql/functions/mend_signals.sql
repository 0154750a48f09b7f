-- Sweep: walks the signals that nobody has taken, `_limit` at a time, one sweeper at once. Those of a run that was not there
-- when they came are bound to it, or dropped and counted once 24 hours are over; a suspended run that waits for one, and
-- whose ticket got lost or never was, is made due. Answers how many runs that were.
create or replace function holdfast.mend_signals(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _from bigint;
  _seen bigint[];
  _runs uuid[];
  _dropped integer;
  _woken uuid[];
begin
  perform holdfast._require_read_committed();
  select c.arrival into _from from holdfast.signal_cursor c for update skip locked;
  if _from is null then
    return 0;
  end if;
  _seen := array(
    select s.arrival from holdfast.signals s
    where s.taken_by is null and s.arrival > 0 and s.arrival > _from order by s.arrival limit _limit);
  if cardinality(_seen) = 0 and _from = 0 then
    return 0;
  end if;
  update holdfast.signal_cursor set arrival = coalesce(_seen[_limit], 0);

  perform holdfast._bind_signals(array(
    select k.run_id from holdfast.signals s
    cross join lateral (
      select k.run_id from holdfast.keys k where k.workflow = s.workflow and k.key = s.key limit 1
    ) k
    where s.arrival = any(_seen) and s.arrival > 0 and s.taken_by is null and s.run_id is null));
  with dropped as (
    delete from holdfast.signals s
    where s.arrival = any(_seen) and s.arrival > 0 and s.is_early and s.taken_by is null and s.sent_at <= _at - interval '24 hours'
      and (select r.id from holdfast.runs r where r.id = s.run_id limit 1) is null
      and (select r.id from holdfast.runs r where r.chain_id = s.run_id limit 1) is null
    returning 1
  )
  select count(*) into _dropped from dropped;
  if _dropped > 0 then
    update holdfast.signal_cursor c set dropped = c.dropped + _dropped;
  end if;

  _runs := array(
    select distinct r.id from holdfast.signals s
    cross join lateral (
      select r.id, r.state from holdfast.runs r where r.id = s.run_id
      union all
      select r.id, r.state from holdfast.runs r where r.chain_id = s.run_id
    ) r
    cross join lateral (select from holdfast.waits w where w.run_id = r.id and w.name = s.name limit 1) w
    where s.arrival = any(_seen) and s.arrival > 0 and s.taken_by is null and s.sent_at <= _at - interval '2 s' and r.state || '' = 'suspended');
  if cardinality(_runs) = 0 then
    return 0;
  end if;
  _runs := array(
    select r.id from holdfast.runs r where r.id = any(_runs) order by r.depth, r.id for update of r skip locked);
  with woken as (
    update holdfast.runs r set state = 'waiting', due_at = least(r.due_at, _at)
    where r.id = any(_runs) and r.state = 'suspended' and holdfast._is_woken(r, _at)
    returning r.id
  )
  select array_agg(w.id) into _woken from woken w;
  perform holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at) order by r.priority desc, r.due_at, r.id)
    from holdfast.runs r where r.id = any(_woken)));
  perform holdfast._tell_watchers(_woken);
  return coalesce(cardinality(_woken), 0);
end
$$;
