-- Of each workflow that has limits, was given any, or is paused (of one, if named): what its code says, what was set over
-- it and by whom, what is in force, and how its lines stand; of groups the 20 with the most set-aside runs. As JSON.
create or replace function holdfast.show_limits(_workflow text) returns text
language sql stable as $$
  select coalesce(json_agg(json_build_object(
    'workflow', n.workflow,
    'inForce', holdfast._limits_said(n.workflow),
    'code', (
      select d.policy -> 'limits' from holdfast.definitions d where d.workflow = n.workflow
      order by d.applies_from desc, d.fingerprint limit 1),
    'set', (
      select json_build_object('limits', o.limits, 'by', o.limits_by, 'at', o.limits_at)
      from holdfast.overrides o where o.workflow = n.workflow and o.limits is not null),
    'paused', (
      select json_build_object('since', o.paused_at, 'by', o.paused_by, 'reason', o.pause_reason)
      from holdfast.overrides o where o.workflow = n.workflow and o.paused_at is not null),
    'since', m.since,
    'live', (select count(*) from holdfast.runs r where r.token % 2 = 1 and r.workflow = n.workflow),
    'setAside', (select coalesce(sum(l.aside), 0) from holdfast.lines l where l.workflow = n.workflow and l.is_wide = m.is_wide),
    'rateLeft', (
      select holdfast._rate_left(m.rate, m.rate_per, l.ring, holdfast._now()) from holdfast.lines l
      where m.rate is not null and l.workflow = n.workflow and l.group_key = '' and l.is_wide),
    'groups', (
      select coalesce(json_agg(json_build_object('group', g.group_key, 'live', g.live, 'setAside', g.aside,
        'rateLeft', case when m.group_rate is not null
          then holdfast._rate_left(m.group_rate, m.group_rate_per, g.ring, holdfast._now()) end)
        order by g.aside desc, g.live desc, g.group_key), '[]')
      from (
        select l.* from holdfast.lines l where l.workflow = n.workflow and not l.is_wide and l.group_key <> ''
        order by l.aside desc, l.live desc, l.group_key limit 20
      ) g)
  ) order by n.workflow), '[]')::text
  from (
    select m.workflow from holdfast.limits m
    union
    select o.workflow from holdfast.overrides o where o.limits is not null or o.paused_at is not null
    union
    select d.workflow from holdfast.definitions d where d.workflow = _workflow
  ) n
  left join holdfast.limits m on m.workflow = n.workflow
  where _workflow is null or n.workflow = _workflow
$$;
