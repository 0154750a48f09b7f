-- Whether a key may name another run: the one it names is gone, or ended at least `dedupe` ago.
create or replace function holdfast._is_key_free(_run uuid, _dedupe interval, _at timestamptz) returns boolean
language sql stable as $$
  select not exists (
    select from holdfast.runs r where r.id = _run and (r.ended_at is null or r.ended_at + _dedupe > _at))
$$;
