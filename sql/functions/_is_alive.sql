-- Whether that run is there and has not ended.
create or replace function holdfast._is_alive(_run uuid) returns boolean
language sql stable as $$
  select exists (select from holdfast.runs r where r.id = _run and r.ended_at is null)
$$;
