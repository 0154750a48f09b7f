-- Takes a worker's presence lock in this session, for as long as the session lasts.
create or replace function holdfast.hold_presence(_worker uuid) returns void
language sql volatile as $$
  select pg_advisory_lock_shared(holdfast._presence_lock(_worker))
$$;
