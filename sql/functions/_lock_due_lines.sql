-- For promote_due: holds the limits, and locks the lines of these runs that are to be cancelled and those whose rate lets
-- more begin at `_at`, all in one order: with the one's locks held, the others' may not be waited for. Answers changes of
-- nothing yet, of those whose rate does.
create or replace function holdfast._lock_due_lines(_asked uuid[], _at timestamptz, _limit integer)
returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _open holdfast.line_change[];
begin
  perform holdfast._hold_limits();
  _open := array(
    select row(l.workflow, l.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change from holdfast.lines l
    where l.open_at <= _at order by l.open_at limit _limit);
  perform holdfast._lock_lines(_open || array(
    select row(r.workflow, coalesce(r.group_key, ''), 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change
    from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow where r.id = any(_asked)));
  return _open;
end
$$;
