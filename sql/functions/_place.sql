-- The place of a waiting run in its line: how many go before it, and how many wait there in all. The line is its group's
-- where groups have limits or turns of their own, else its workflow's.
create or replace function holdfast._place(_run holdfast.runs) returns table (ahead integer, waiting integer)
language plpgsql stable set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  _by_group boolean := (_run).group_key is not null and exists (
    select from holdfast.limits m
    where m.workflow = (_run).workflow and (m.has_groups or not m.is_wide));
begin
  if (_run).state <> 'waiting' then
    return;
  elsif _by_group then
    return query
    select (count(*) filter (where (-1 - r.priority, r.due_at, r.id) < (-1 - (_run).priority, (_run).due_at, (_run).id)))::integer,
      count(*)::integer
    from holdfast.runs r where r.workflow = (_run).workflow and r.group_key = (_run).group_key and r.state = 'waiting';
  else
    return query
    select (count(*) filter (where (-1 - r.priority, r.due_at, r.id) < (-1 - (_run).priority, (_run).due_at, (_run).id)))::integer,
      count(*)::integer
    from holdfast.runs r where r.workflow = (_run).workflow and r.state = 'waiting';
  end if;
end
$$;
