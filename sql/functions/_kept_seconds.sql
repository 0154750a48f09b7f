-- For how long an ended run stays, in seconds: ten minutes at the least, and while its key is taken; 68 years at the most.
create or replace function holdfast._kept_seconds(_keep_ms double precision, _dedupe_ms double precision) returns integer
language sql immutable as $$
  select least(2147483647, ceil(greatest(_keep_ms, _dedupe_ms, 600000) / 1000))::integer
$$;
