-- Before runs are locked that may be running or set aside: holds the limits, and locks the lines of those that a limit
-- rules. Answers changes of nothing yet, one a line; null if no limit rules any.
create or replace function holdfast._lines_of(_ids uuid[]) returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _changes holdfast.line_change[];
begin
  perform holdfast._hold_limits();
  if not exists (select from holdfast.limits) then
    return null;
  end if;
  select array_agg(row(l.workflow, l.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change) into _changes
  from (
    select distinct r.workflow, coalesce(r.group_key, '') as group_key
    from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow where r.id = any(_ids)
  ) l;
  if _changes is not null then
    perform holdfast._lock_lines(_changes);
  end if;
  return _changes;
end
$$;
