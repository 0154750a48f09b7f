-- Issues tickets for lines whose rate lets more begin now.
create or replace function holdfast._open_lines(_limit integer) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _changes holdfast.line_change[];
begin
  if not exists (select from holdfast.lines l where l.open_at <= _at) then
    return;
  end if;
  perform holdfast._hold_limits();
  _changes := array(
    select row(l.workflow, l.group_key, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change from holdfast.lines l
    where l.open_at <= _at order by l.open_at limit _limit);
  perform holdfast._lock_lines(_changes);
  perform holdfast._fill(null, _changes, '{}');
end
$$;
