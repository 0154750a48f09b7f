-- What it means for their lines that these runs, whose rows are locked, are about to stop being what they are: how many
-- were running, and how many set aside. For _fill.
create or replace function holdfast._leave_lines(_ids uuid[]) returns holdfast.line_change[]
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select row(r.workflow, coalesce(r.group_key, ''), 0, null, 0, count(*) filter (where r.state = 'running'), 0, 0,
      -count(*) filter (where r.is_set_aside), -count(*) filter (where r.is_set_aside and r.is_rate_free))::holdfast.line_change
    from holdfast.runs r join holdfast.limits m on m.workflow = r.workflow
    where r.id = any(_ids) and r.state in ('waiting', 'running')
    group by r.workflow, coalesce(r.group_key, ''));
end
$$;
