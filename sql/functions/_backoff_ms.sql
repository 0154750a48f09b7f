-- How long a run waits after its present attempt, by its workflow's newest definition on record: as backoffMs does in
-- TypeScript. Grown by logarithms, since a power can be out of range.
create or replace function holdfast._backoff_ms(_run uuid) returns double precision
language sql volatile as $$
  select case when p.initial_ms = 0 then 0 else
      exp(least(ln(p.initial_ms) + greatest(r.attempt - 1, 0) * ln(p.factor), ln(p.max_ms)))
      * (1 + p.jitter * (2 * random() - 1))
    end
  from holdfast.runs r cross join lateral (
    select coalesce((d.policy #>> '{retry,initialMs}')::double precision, 1000) as initial_ms,
      coalesce((d.policy #>> '{retry,factor}')::double precision, 2) as factor,
      greatest(coalesce((d.policy #>> '{retry,maxMs}')::double precision, 3600000), 1e-9) as max_ms,
      coalesce((d.policy #>> '{retry,jitter}')::double precision, 0.1) as jitter
    from (select) one
    left join holdfast.definitions d on d.workflow = r.workflow
    order by d.applies_from desc nulls last limit 1
  ) p
  where r.id = _run
$$;
