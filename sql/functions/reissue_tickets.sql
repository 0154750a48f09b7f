-- Sweep: a waiting run that is not set aside and whose ticket is missing, used up or locked for over 10 s gets a new one. It walks the lines of all
-- workflows from a stored cursor, `_limit` runs at a time, one sweeper at once. Answers how many were re-issued.
create or replace function holdfast.reissue_tickets(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _from record;
  _seen uuid[];
  _last record;
  _count integer;
begin
  perform holdfast._require_read_committed();
  select c.workflow, c.rank, c.due_at, c.id, c.workflow = '' as is_first into _from
  from holdfast.ticket_cursor c for update skip locked;
  if _from is null then
    return 0;
  end if;
  select array_agg(page.id order by page.n) into _seen from (
    select r.id, row_number() over (order by r.workflow, -1 - r.priority, r.due_at, r.id) as n
    from holdfast.runs r
    where r.state = 'waiting'
      and (r.workflow, -1 - r.priority, r.due_at, r.id) > (_from.workflow, _from.rank, _from.due_at, _from.id)
    order by r.workflow, -1 - r.priority, r.due_at, r.id limit _limit
  ) page;
  if _seen is null and _from.is_first then
    return 0;
  end if;
  -- A page that is not full was the last one, and the walk begins again.
  update holdfast.ticket_cursor
  set (workflow, rank, due_at, id) = (
    select r.workflow, -1 - r.priority, r.due_at, r.id from holdfast.runs r where r.id = _seen[_limit]
    union all
    select '', 0, '-infinity', '00000000-0000-0000-0000-000000000000' where _seen[_limit] is null);

  with lacking as materialized (
    select r.id from holdfast.runs r
    left join lateral (
      select t.* from holdfast_queue._private_jobs t where t.key = r.id || ':' || r.token limit 1
    ) t on true
    where r.id = any(_seen) and r.state || '' = 'waiting' and not r.is_set_aside and r.due_at <= _at - interval '10 s'
      and (t.id is null or t.attempts >= t.max_attempts or t.locked_at <= _at - interval '10 s')
    order by r.depth, r.id
    for no key update of r skip locked
  ), sorted as (
    select r.* from holdfast.runs r join lacking l on l.id = r.id where r.state = 'waiting'
  )
  select holdfast._issue_tickets(array_agg(holdfast._ticket(id, token, workflow, group_key, priority, due_at)
    order by priority desc, due_at, id))
  into _count from sorted;
  return _count;
end
$$;
