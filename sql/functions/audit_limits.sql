-- Recomputes from the claims on record whether limits were kept since `_since`, or in the last `_last_ms` milliseconds
-- (both null: as long as the record goes back): at
-- no start more live claims than the limit then in force, and in no stretch of `per` more starts than its rate. Answers
-- JSON: for each workflow that had limits what was looked at and since when its record is complete, and what broke a limit.
--
-- It reads claims alone, and none of what limits are decided by. A lowered limit ends no claim, so each start is judged by
-- the limit in force at that moment, and a rate by the starts since it was changed last.
create or replace function holdfast.audit_limits(_since timestamptz, _last_ms double precision) returns text
language sql stable as $$
  with changes as (
    select c.workflow, c.changed_at, lead(c.changed_at, 1, 'infinity') over (partition by c.workflow order by c.changed_at) as until,
      m.*
    from holdfast.limit_changes c cross join json_to_record(c.limits) m (concurrency integer, group_concurrency integer,
      rate integer, rate_per interval, group_rate integer, group_rate_per interval)
  ), covered as (
    select c.workflow, greatest(min(c.changed_at), max(f.until), _since, holdfast._now() - _last_ms * interval '1 ms') as since
    from changes c left join holdfast.forgotten f on f.workflow = c.workflow
    group by c.workflow
  ), claims as materialized (
    select r.workflow, r.group_key, c.run_id, c.token, c.began_at, greatest(c.began_at, coalesce(c.ended_at, 'infinity')) as ended_at,
      coalesce(lag(c.outcome) over (partition by c.run_id order by c.token) not in ('suspended', 'released'), true) as counts
    from holdfast.all_claims c join holdfast.runs r on r.id = c.run_id
    where r.workflow in (select v.workflow from covered v)
  ), scopes as (
    select c.*, '' as scope, null as name from claims c
    union all
    select c.*, 'group', c.group_key from claims c where nullif(c.group_key, '') is not null
  ), events as (
    select s.workflow, s.scope, s.name, s.run_id, s.token, s.began_at as at, 1 as change from scopes s
    union all
    select s.workflow, s.scope, s.name, s.run_id, s.token, s.ended_at, -1 from scopes s where s.ended_at < 'infinity'
  ), courses as (
    -- Ends go before starts of the same instant: a place is free when its holder has left.
    select e.*, sum(e.change) over (
      partition by e.workflow, e.scope, e.name order by e.at, e.change, e.run_id, e.token rows unbounded preceding) as live
    from events e
  ), crowded as (
    select o.workflow, o.name, 'concurrency' as kind, o.at, o.live as found, l.most as allowed, o.run_id, o.token
    from courses o join covered v on v.workflow = o.workflow and o.at >= v.since
    join changes c on c.workflow = o.workflow and o.at >= c.changed_at and o.at < c.until
    cross join lateral (select case when o.scope = '' then c.concurrency else c.group_concurrency end as most) l
    where o.change = 1 and o.live > l.most
  ), starts as (
    select s.*, l.*, c.changed_at, lag(s.began_at, l.most) over (
      partition by s.workflow, s.scope, s.name order by s.began_at, s.run_id, s.token) as before
    from scopes s
    join changes c on c.workflow = s.workflow and s.began_at >= c.changed_at and s.began_at < c.until
    cross join lateral (
      select case when s.scope = '' then c.rate else c.group_rate end as most,
        case when s.scope = '' then c.rate_per else c.group_rate_per end as per
    ) l
    where s.counts
  ), hurried as (
    select s.workflow, s.name, 'rate' as kind, s.began_at, s.most + 1, s.most, s.run_id, s.token
    from starts s join covered v on v.workflow = s.workflow
    where s.most is not null and s.before > s.began_at - s.per and s.before >= greatest(v.since, s.changed_at)
  )
  select json_build_object(
    'at', holdfast._now(),
    'workflows', (
      select coalesce(json_agg(json_build_object('workflow', v.workflow, 'since', v.since, 'claims', (
        select count(*) from claims c where c.workflow = v.workflow and c.began_at >= v.since), 'removedUntil', (
        select f.until from holdfast.forgotten f where f.workflow = v.workflow)) order by v.workflow), '[]')
      from covered v),
    'violations', (
      select coalesce(json_agg(json_build_object('workflow', b.workflow, 'group', b.name, 'kind', b.kind, 'at', b.at,
        'found', b.found, 'allowed', b.allowed, 'run', b.run_id, 'token', b.token) order by b.at, b.run_id), '[]')
      from (select * from crowded union all select * from hurried limit 1000) b)
  )::text
$$;
