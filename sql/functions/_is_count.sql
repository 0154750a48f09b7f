-- A whole number from 1 on that an integer holds.
create or replace function holdfast._is_count(_value jsonb) returns boolean
language sql immutable as $$
  select coalesce(jsonb_typeof(_value) = 'number' and _value::text ~ '^[1-9][0-9]{0,8}$', false)
$$;
