-- Locks the keys that these runs bear, whichever runs they name, before the runs themselves are locked.
create or replace function holdfast._lock_keys(_ids uuid[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
set plan_cache_mode = force_generic_plan as $$
begin
  perform 1
  from (
    select r.workflow, r.key from holdfast.runs r where r.id = any(_ids) and r.key is not null order by r.workflow, r.key
  ) r cross join lateral (
    select from holdfast.keys k where k.workflow = r.workflow and k.key = r.key for update of k
  ) keyed;
end
$$;
