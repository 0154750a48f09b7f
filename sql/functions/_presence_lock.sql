-- The advisory lock that a living worker holds, shared, in two sessions.
create or replace function holdfast._presence_lock(_worker uuid) returns bigint
language sql immutable as $$
  select hashtextextended('holdfast ' || _worker, 0)
$$;
