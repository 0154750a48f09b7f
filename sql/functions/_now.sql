-- The only clock: everything stored and every comparison reads time here. The test runtime replaces this one function.
create or replace function holdfast._now() returns timestamptz
language sql volatile parallel safe as $$
  select clock_timestamp()
$$;
