-- Sweep: fails runs past their deadline that nobody runs just now. Answers how many.
create or replace function holdfast.fail_overdue(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _failed uuid[];
begin
  perform holdfast._require_read_committed();
  with overdue as materialized (
    select r.id from holdfast.runs r
    where r.deadline_at is not null and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
    order by r.depth, r.id
    limit _limit
    for update of r skip locked
  ), failed as (
    update holdfast.runs r
    set state = 'failed', failure = 'deadline', ended_at = _at, reason = 'The run was not done by its deadline.'
    from overdue
    where r.id = overdue.id and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
    returning r.id
  )
  select array_agg(id) into _failed from failed;
  perform holdfast._tell_watchers(_failed);
  return coalesce(cardinality(_failed), 0);
end
$$;
