-- Sweep: a waiting run whose ticket is missing, used up or locked for over 10 s gets a new one. It walks the waiting
-- runs by id from a stored cursor, `_limit` at a time, one sweeper at once. Answers how many were re-issued.
create or replace function holdfast.reissue_tickets(_limit integer) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz := holdfast._now();
  _from uuid;
  _seen uuid[];
  _count integer;
begin
  perform holdfast._require_read_committed();
  select position into _from from holdfast.cursors where name = 'tickets' for update skip locked;
  if _from is null then
    return 0;
  end if;
  select array_agg(id) into _seen from (
    select r.id from holdfast.runs r where r.state = 'waiting' and r.id > _from order by r.id limit _limit
  ) page;
  if _seen is null and _from = '00000000-0000-0000-0000-000000000000' then
    return 0;
  end if;
  update holdfast.cursors
  set position = coalesce(_seen[_limit], '00000000-0000-0000-0000-000000000000')
  where name = 'tickets';

  with lacking as materialized (
    select r.id from holdfast.runs r
    left join holdfast_queue._private_jobs t on t.key = r.id || ':' || r.token
    where r.id = any(_seen) and r.state = 'waiting' and r.due_at <= _at - interval '10 s'
      and (t.id is null or t.attempts >= t.max_attempts or t.locked_at <= _at - interval '10 s')
    order by r.depth, r.id
    for no key update of r skip locked
  ), sorted as (
    select r.* from holdfast.runs r join lacking l on l.id = r.id where r.state = 'waiting'
  )
  select holdfast._issue_tickets(array_agg(holdfast._ticket(id, token, workflow, priority, due_at)
    order by priority desc, due_at, id))
  into _count from sorted;
  return _count;
end
$$;
