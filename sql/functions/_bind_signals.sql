-- Gives these runs the signals that came for their keys before anybody saw them.
create or replace function holdfast._bind_signals(_ids uuid[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  update holdfast.signals s set run_id = coalesce(r.chain_id, r.id), is_early = false
  from holdfast.runs r cross join lateral (
    select e.ctid from holdfast.signals e where e.run_id is null and e.workflow = r.workflow and e.key = r.key limit 10000
  ) e
  where r.id = any(_ids) and r.key is not null and s.ctid = e.ctid and s.run_id is null
    and not exists (select from holdfast.signals o where o.run_id = coalesce(r.chain_id, r.id) and o.id = s.id);
end
$$;
