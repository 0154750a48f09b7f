-- Forgets what is limited no more once none of its runs is set aside any more: until then its runs are claimed by its line,
-- whose room is then without end. Only if nobody else decides or changes anything just now.
create or replace function holdfast._drop_idle_limits() returns void
language plpgsql as $$
declare
  _idle text[];
begin
  if not exists (select from holdfast.limits m where not holdfast._is_limit(m)) then
    return;
  end if;
  if not pg_try_advisory_xact_lock(holdfast._limits_lock()) then
    return;
  end if;
  with idle as (
    delete from holdfast.limits m
    where not holdfast._is_limit(m)
      and not exists (select from holdfast.lines l where l.workflow = m.workflow and l.has_aside)
    returning m.workflow
  )
  select array_agg(idle.workflow) into _idle from idle;
  delete from holdfast.lines l where l.workflow = any(_idle);
end
$$;
