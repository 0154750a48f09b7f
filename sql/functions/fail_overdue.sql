-- Sweep: fails runs past their deadline that nobody runs just now. Answers how many.
create or replace function holdfast.fail_overdue(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _overdue uuid[];
  _lines holdfast.line_change[];
  _failed uuid[];
begin
  perform holdfast._require_read_committed();
  _overdue := array(
    select r.id from holdfast.runs r
    where r.deadline_at is not null and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
    limit _limit);
  _lines := holdfast._lines_of(_overdue);
  _overdue := array(
    select r.id from holdfast.runs r
    where r.id = any(_overdue) and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
    order by r.depth, r.id
    for update of r skip locked);
  if _lines is not null then
    _lines := holdfast._leave_lines(_overdue);
  end if;
  with failed as (
    update holdfast.runs r
    set state = 'failed', is_set_aside = false, failure = 'deadline', ended_at = _at,
      reason = 'The run was not done by its deadline.'
    where r.id = any(_overdue) and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
    returning r.id
  )
  select array_agg(id) into _failed from failed;
  if cardinality(_lines) > 0 then
    perform holdfast._fill(null, _lines, '{}');
  end if;
  perform holdfast._follow_ends(_failed, _failed, _at);
  perform holdfast._tell_watchers(_failed);
  return coalesce(cardinality(_failed), 0);
end
$$;
