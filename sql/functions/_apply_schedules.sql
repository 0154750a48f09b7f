-- Puts the schedules of these workflows in force: those of the definitions that apply. A schedule whose times are others
-- now begins anew from now on; otherwise what has been decided stands.
create or replace function holdfast._apply_schedules(_workflows text[]) returns void
language plpgsql set lock_timeout = '10s' as $$
declare
  _workflow text;
  _spec json;
  _at timestamptz;
begin
  -- Two processes that put a definition of one workflow on record would else each look for the newest without the other's.
  perform pg_advisory_xact_lock(hashtextextended(:channel || ' schedules', 0));
  for _workflow in select distinct w from unnest(_workflows) w order by w loop
    _spec := (
      select d.policy -> 'schedule' from holdfast.definitions d where d.workflow = _workflow
      order by d.applies_from desc, d.fingerprint limit 1);
    if _spec is null then
      delete from holdfast.schedules s where s.workflow = _workflow;
      continue;
    end if;
    _at := date_trunc('milliseconds', holdfast._now());
    insert into holdfast.schedules as s (workflow, spec, past_at) values (_workflow, _spec, _at)
    on conflict (workflow) do update
    set spec = excluded.spec, turn = s.turn + 1, failing_count = 0, retry_at = null,
      past_at = case when holdfast._is_same_timing(s.spec, excluded.spec) then s.past_at else excluded.past_at end,
      next_at = case when holdfast._is_same_timing(s.spec, excluded.spec) then s.next_at end,
      queued_at = case when holdfast._is_same_timing(s.spec, excluded.spec) then s.queued_at end
    where s.spec::text <> excluded.spec::text;
  end loop;
  perform holdfast._notify('schedules');
end
$$;
