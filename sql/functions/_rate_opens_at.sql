-- When a rate lets more begin than at `_at`.
create or replace function holdfast._rate_opens_at(_per interval, _ring holdfast.ring, _at timestamptz)
returns timestamptz
language sql immutable as $$
  select min(s.at) + _per from unnest((_ring).starts_at) s (at) where s.at > _at - _per
$$;
