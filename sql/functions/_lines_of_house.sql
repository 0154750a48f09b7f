-- The lines that _keep_house is about to lock, so that its caller locks them and its own in one order: of claims by hand
-- that have lapsed, of runs that are overdue or to be cancelled, and those whose rate lets more begin.
create or replace function holdfast._lines_of_house() returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
begin
  return array(
    select row(h.workflow, h.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change
    from (
      (select l.workflow, l.group_key from holdfast.lines l where l.open_at <= _at order by l.open_at limit 100)
      union
      select r.workflow, coalesce(r.group_key, '') from holdfast.runs r where r.token % 2 = 1 and r.lease_until <= _at
      union
      select r.workflow, coalesce(r.group_key, '') from holdfast.runs r
      where r.deadline_at is not null and r.deadline_at <= _at and r.state in ('scheduled', 'waiting', 'suspended')
      union
      select r.workflow, coalesce(r.group_key, '') from holdfast.cancels c join holdfast.runs r on r.id = c.run_id
    ) h
    join holdfast.limits m on m.workflow = h.workflow
    limit 1000);
end
$$;
