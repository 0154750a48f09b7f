-- Asks in the caller's transaction for cancels, which a worker carries out once it has committed: a run is never locked
-- by a transaction that is not ours. Answers how many were asked for.
create or replace function holdfast.ask_cancels(_ids uuid[], _reason text) returns integer
language sql volatile as $$
  insert into holdfast.cancels (run_id, asked_at, reason) select id, holdfast._now(), _reason from unnest(_ids) id;
  select holdfast._notify('due');
  select cardinality(_ids);
$$;
