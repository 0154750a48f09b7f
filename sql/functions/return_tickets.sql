-- A worker that stops gives back tickets it had taken and not begun, one array a column: their runs get new ones, and so
-- do lines where runs are set aside. A ticket whose `id` is null named a line alone.
create or replace function holdfast.return_tickets(_ids uuid[], _workflows text[], _groups text[]) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _lines holdfast.line_change[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._hold_limits();
  _lines := array(
    select row(t.workflow, coalesce(t.group_key, ''), 0, null, count(*), 0, 0, 0, 0, 0)::holdfast.line_change
    from unnest(_workflows, _groups) t (workflow, group_key) join holdfast.limits m on m.workflow = t.workflow
    group by t.workflow, coalesce(t.group_key, ''));
  if cardinality(_lines) > 0 then
    perform holdfast._lock_lines(_lines);
    perform holdfast._fill(null, _lines, '{}');
  end if;
  perform 1 from (
    select from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for no key update of r
  ) locked;
  return holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at)
      order by r.priority desc, r.due_at, r.id)
    from holdfast.runs r where r.id = any(_ids) and r.state || '' = 'waiting' and not r.is_set_aside));
end
$$;
