-- Tells every listening process of this schema: `due`, `schedules`, `limits`, or `cancelled <id> …` and
-- `signalled <id> …` with at most 100 ids.
create or replace function holdfast._notify(_message text) returns void
language sql volatile as $$
  select pg_notify(:channel, _message)
$$;
