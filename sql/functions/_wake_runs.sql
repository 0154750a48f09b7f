-- Makes those of these runs due that are suspended and that something has come for. As everywhere, a run is locked by id alone,
-- and its state and signals are read later; one that is being suspended just now holds its line, which the caller has locked.
create or replace function holdfast._wake_runs(_ids uuid[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _suspended uuid[];
begin
  _suspended := array(select r.id from holdfast.runs r where r.id = any(_ids) and r.state || '' = 'suspended');
  if cardinality(_suspended) = 0 then
    return;
  end if;
  perform 1 from (
    select from holdfast.runs r where r.id = any(_suspended) order by r.depth, r.id for update of r
  ) locked;
  update holdfast.runs r set state = 'waiting', due_at = least(r.due_at, holdfast._now())
  where r.id = any(_suspended) and r.state = 'suspended' and holdfast._is_woken(r, holdfast._now());
end
$$;
