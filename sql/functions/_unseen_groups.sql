-- For workflows that are to be fair: further groups with waiting runs, as many as are wanted, each time the next by name.
-- A run that was just started is not known to its line before its ticket comes up, which may stand behind 100,000 of
-- another group; this is how its group gets its turn.
create or replace function holdfast._unseen_groups(_changes holdfast.line_change[]) returns holdfast.line_change[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _fair record;
  _name text;
  _found holdfast.line_change[] := '{}';
begin
  for _fair in
    select l.workflow, l.seen_group, sum(c.wants) as wants
    from unnest(_changes) c join holdfast.limits m on m.workflow = c.workflow
    join holdfast.lines l on l.workflow = c.workflow and l.group_key = '' and l.is_wide
    where m.is_fair and m.has_groups and c.wants > 0
    group by l.workflow, l.seen_group
  loop
    _name := _fair.seen_group;
    for n in 1 .. _fair.wants loop
      _name := coalesce((
        select min(r.group_key) from holdfast.runs r
        where r.workflow = _fair.workflow and r.state = 'waiting' and r.group_key > _name), '');
      exit when _name = '';
      _found := _found || row(_fair.workflow, _name, 0, null, 0, 0, 0, 0, 0, 0)::holdfast.line_change;
    end loop;
    update holdfast.lines l set seen_group = _name
    where l.workflow = _fair.workflow and l.group_key = '' and l.is_wide and l.seen_group <> _name;
  end loop;
  if cardinality(_found) > 0 then
    perform holdfast._lock_lines(_found);
  end if;
  return _found;
end
$$;
