-- Whether two schedules have the same instants.
create or replace function holdfast._is_same_timing(_one json, _other json) returns boolean
language sql immutable as $$
  select (_one ->> 'cron', _one ->> 'zone', _one ->> 'everyMs')
    is not distinct from (_other ->> 'cron', _other ->> 'zone', _other ->> 'everyMs')
$$;
