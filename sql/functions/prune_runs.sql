-- Sweep: removes runs whose time is over, at most `_limit` runs and some ten step rows for each at once, and watches that
-- nobody lengthened. Answers how many runs it looked at.
create or replace function holdfast.prune_runs(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _over uuid[];
begin
  perform holdfast._require_read_committed();
  _over := array(select r.id from holdfast.runs r where r.keep_until <= _at order by r.keep_until limit _limit);
  -- Keys before runs, as everywhere; what somebody has locked is left for the next time.
  with keyed as materialized (
    select k.run_id from holdfast.runs r join holdfast.keys k on k.workflow = r.workflow and k.key = r.key and k.run_id = r.id
    where r.id = any(_over)
    order by k.workflow, k.key
    for update of k skip locked
  )
  select array(
    select r.id from holdfast.runs r
    where r.id = any(_over) and r.keep_until <= _at and (r.id in (select run_id from keyed) or not exists (
      select from holdfast.keys k where k.workflow = r.workflow and k.key = r.key and k.run_id = r.id))
    order by r.depth, r.id
    for update of r skip locked)
  into _over;
  perform holdfast._remove_runs(_over, _limit * 10);
  delete from holdfast.watches w where w.until <= _at;
  return cardinality(_over);
end
$$;
