-- The advisory lock that every decision about runs shares, and a change of limits has to itself.
create or replace function holdfast._limits_lock() returns bigint
language sql immutable as $$
  select hashtextextended(:channel || ' limits', 0)
$$;
