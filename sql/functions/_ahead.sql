-- How many waiting runs of its line go before a waiting run, counted up to `_most` (null: all); null of one that does not
-- wait.
create or replace function holdfast._ahead(_run holdfast.runs, _most integer) returns integer
language plpgsql stable set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
begin
  if (_run).state <> 'waiting' then
    return null;
  elsif holdfast._has_own_line(_run) then
    return (
      select count(*) from (
        select from holdfast.runs r
        where r.workflow = (_run).workflow and r.group_key = (_run).group_key and r.state = 'waiting'
          and (-1 - r.priority, r.due_at, r.id) < (-1 - (_run).priority, (_run).due_at, (_run).id)
        limit _most
      ) before);
  else
    return (
      select count(*) from (
        select from holdfast.runs r
        where r.workflow = (_run).workflow and r.state = 'waiting'
          and (-1 - r.priority, r.due_at, r.id) < (-1 - (_run).priority, (_run).due_at, (_run).id)
        limit _most
      ) before);
  end if;
end
$$;
