-- Holds the limits in force as they are until the end of the transaction. Every decision about a run that is running or
-- begins to be does so before it looks whether a limit rules it; whoever changes limits waits for all of them
-- (_apply_limits). Without it, a claim under way could be one that the new limit has not counted.
create or replace function holdfast._hold_limits() returns void
language sql volatile as $$
  select pg_advisory_xact_lock_shared(holdfast._limits_lock())
$$;
