-- How many runs there are of each workflow on record in each state but done and cancelled, none for most, and since when the
-- oldest due one waits.
create or replace function holdfast._depths() returns table (workflow text, state text, count bigint, oldest timestamptz)
language sql stable as $$
  select s.workflow, s.state, sum(s.count)::bigint, min(s.oldest)
  from (
    select d.workflow, n.state, 0::bigint as count, null::timestamptz as oldest
    from (select distinct d.workflow from holdfast.definitions d) d
    cross join unnest(array['scheduled', 'waiting', 'running', 'suspended', 'failed']) n (state)
    union all
    select r.workflow, r.state, count(*), min(r.due_at) from holdfast.runs r where r.state = 'waiting' group by 1, 2
    union all
    select r.workflow, r.state, count(*), null from holdfast.runs r where r.token % 2 = 1 group by 1, 2
    union all
    select r.workflow, r.state, count(*), null from holdfast.runs r
    where r.state in ('scheduled', 'suspended') and r.due_at is not null group by 1, 2
    union all
    select r.workflow, r.state, count(*), null
    from (select distinct w.run_id from holdfast.waits w where w.due_at is null) w join holdfast.runs r on r.id = w.run_id
    where r.state = 'suspended' and r.due_at is null group by 1, 2
    union all
    select r.workflow, r.state, count(*), null from holdfast.runs r where r.state = 'failed' group by 1, 2
  ) s
  group by s.workflow, s.state
$$;
