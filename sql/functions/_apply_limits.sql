-- Puts the limits of these workflows in force: those of the newest definition, under what an operator has set. It waits
-- for all decisions under way and holds off all others. Answers the workflows whose limits are others now.
create or replace function holdfast._apply_limits(_workflows text[]) returns text[]
language plpgsql set lock_timeout = '10s' as $$
declare
  _new holdfast.limits;
  _old holdfast.limits;
  _said jsonb;
  _changed text[] := '{}';
begin
  perform pg_advisory_xact_lock(holdfast._limits_lock());
  for _new.workflow in select distinct w from unnest(_workflows) w order by w loop
    _said := holdfast._limits_said(_new.workflow);
    _new.concurrency := (_said ->> 'concurrency')::integer;
    _new.group_concurrency := (_said ->> 'concurrencyPerGroup')::integer;
    _new.rate := (_said -> 'rate' ->> 'limit')::integer;
    _new.rate_per := (_said -> 'rate' ->> 'perMs')::double precision * interval '1 ms';
    _new.group_rate := (_said -> 'ratePerGroup' ->> 'limit')::integer;
    _new.group_rate_per := (_said -> 'ratePerGroup' ->> 'perMs')::double precision * interval '1 ms';
    _new.is_fair := coalesce((_said ->> 'isFair')::boolean, false);
    _new.is_paused := coalesce((select o.paused_at is not null from holdfast.overrides o where o.workflow = _new.workflow), false);
    _new.since := holdfast._now();
    -- What has only groups' limits has no line of its own; nor is one left without any, while runs are set aside.
    _new.is_wide := _new.concurrency is not null or _new.rate is not null or _new.is_fair or _new.is_paused
      or _new.group_concurrency is null and _new.group_rate is null;
    _new.has_groups := _new.is_wide
      and (_new.group_concurrency is not null or _new.group_rate is not null or _new.is_fair);

    select m.* into _old from holdfast.limits m where m.workflow = _new.workflow;
    continue when to_jsonb(_old) - 'since' is not distinct from to_jsonb(_new) - 'since'
      or _old is null and not holdfast._is_limit(_new);
    insert into holdfast.limits values (_new.*)
    on conflict (workflow) do update set (concurrency, group_concurrency, rate, rate_per, group_rate, group_rate_per, is_fair,
      is_paused, is_wide, has_groups, since) = (_new.concurrency, _new.group_concurrency, _new.rate, _new.rate_per,
      _new.group_rate, _new.group_rate_per, _new.is_fair, _new.is_paused, _new.is_wide, _new.has_groups, _new.since);
    insert into holdfast.limit_changes (workflow, changed_at, limits)
    values (_new.workflow, _new.since, to_json(_new))
    on conflict (workflow, changed_at) do update set limits = excluded.limits;
    perform holdfast._recount_lines(_new.workflow);
    _changed := _changed || _new.workflow;
  end loop;
  if cardinality(_changed) > 0 then
    perform holdfast._drop_idle_limits();
    perform holdfast._notify('due');
    perform holdfast._notify('limits');
  end if;
  return _changed;
end
$$;
