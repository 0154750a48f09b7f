-- Sweep: a line whose tickets got lost, or whose set-aside runs nobody asks for, gets new tickets. It walks the lines that
-- have set-aside runs from a stored cursor, `_limit` at a time, one sweeper at once. Answers how many it looked at.
create or replace function holdfast.mend_lines(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _from record;
  _seen holdfast.lines[];
  _changes holdfast.line_change[];
begin
  perform holdfast._require_read_committed();
  if not exists (select from holdfast.lines l where l.has_aside) then
    return 0;
  end if;
  perform holdfast._hold_limits();
  select c.* into _from from holdfast.line_cursor c for update skip locked;
  if _from is null then
    return 0;
  end if;
  _seen := array(
    select l from holdfast.lines l
    where l.has_aside and (l.workflow, l.group_key, l.is_wide) > (_from.workflow, _from.group_key, _from.is_wide)
    order by l.workflow, l.group_key, l.is_wide limit _limit);
  update holdfast.line_cursor
  set (workflow, group_key, is_wide) = (
    select coalesce(_seen[_limit].workflow, ''), coalesce(_seen[_limit].group_key, ''), coalesce(_seen[_limit].is_wide, false));

  -- Most lines are as they should be, and are left alone.
  _changes := array(
    select row(l.workflow, l.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change
    from unnest(_seen) l join holdfast.limits m on m.workflow = l.workflow and m.is_wide = l.is_wide
    where holdfast._line_tickets(l, l.owed, _at) < l.owed
      or l.owed = 0 and l.open_at is null and not m.is_paused and holdfast._slots_left(
        case when m.is_wide then m.concurrency when l.group_key <> '' then m.group_concurrency end, l.live) > 0);
  if cardinality(_changes) > 0 then
    perform holdfast._lock_lines(_changes);
    _changes := array(
      select row(l.workflow, l.group_key, 0, null, greatest(0, l.owed - holdfast._line_tickets(l, l.owed, _at)), 0, 0, 0, 0,
        0)::holdfast.line_change
      from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
      join holdfast.lines l on l.workflow = any(array[c.workflow]) and l.group_key = c.group_key and l.is_wide = m.is_wide);
    perform holdfast._fill(null, _changes, '{}');
  end if;
  perform holdfast._drop_idle_limits();
  return cardinality(_seen);
end
$$;
