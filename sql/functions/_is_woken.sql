-- Whether something that a run waits for has come. Read in a later statement than the one that locked the run.
create or replace function holdfast._is_woken(_run holdfast.runs, _at timestamptz) returns boolean
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  -- From the waits to the signals, of which there may be many: the offset keeps the planner from turning that round.
  return _run.due_at <= _at or exists (
    select from holdfast.waits w where w.run_id = _run.id and exists (
      select from holdfast.signals s
      where s.run_id = coalesce(_run.chain_id, _run.id) and s.name = w.name and s.taken_by is null offset 0));
end
$$;
