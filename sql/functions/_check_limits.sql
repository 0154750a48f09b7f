-- Refuses limits that no definition could have.
create or replace function holdfast._check_limits(_workflow text, _limits jsonb) returns void
language plpgsql stable as $$
declare
  _name text;
  _problem text;
begin
  for _name in select jsonb_object_keys(_limits) loop
    _problem := case
      when _name not in ('concurrency', 'concurrencyPerGroup', 'rate', 'ratePerGroup', 'isFair')
        then 'is not the name of a limit'
      when _limits -> _name = 'null' and _name <> 'isFair' then null
      when _name = 'isFair' and jsonb_typeof(_limits -> _name) <> 'boolean' then 'must be true or false'
      when _name like 'concurrency%' and not holdfast._is_count(_limits -> _name) then 'must be a whole number, 1 or more'
      when _name like 'rate%' and not (holdfast._is_count(_limits -> _name -> 'limit')
        and holdfast._is_count(_limits -> _name -> 'perMs'))
        then 'must be { limit, perMs }, whole numbers, 1 or more'
      when _name in ('concurrencyPerGroup', 'ratePerGroup', 'isFair') and _limits -> _name <> 'false' and not (
        select (d.policy ->> 'hasGroup')::boolean from holdfast.definitions d where d.workflow = _workflow
        order by d.applies_from desc, d.fingerprint limit 1) then 'needs a workflow whose runs have groups'
    end;
    if _problem is not null then
      raise exception '% %.', _name, _problem using errcode = 'WF008',
        hint = 'Give concurrency, concurrencyPerGroup, rate, ratePerGroup and isFair as defineWorkflow takes them.';
    end if;
  end loop;
end
$$;
