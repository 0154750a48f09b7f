-- What workers do beside their claims, in small pieces, for where runs are claimed by hand and there may be no worker:
-- ends lapsed claims by hand, promotes due runs, fails overdue ones, and removes those whose time is over.
create or replace function holdfast._keep_house() returns void
language sql volatile as $$
  select holdfast.end_leases(100, holdfast._now(), true);
  select * from holdfast.promote_due(100);
  select holdfast.fail_overdue(100);
  select holdfast.prune_runs(100);
$$;
