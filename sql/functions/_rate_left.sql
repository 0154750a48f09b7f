-- How many more may begin at `_at` under a rate: those of the ring count until `_per` after their instant.
create or replace function holdfast._rate_left(_limit integer, _per interval, _ring holdfast.ring, _at timestamptz)
returns integer
language plpgsql immutable as $$
begin
  if _limit is null then
    return 1000000;
  end if;
  return greatest(0, _limit - coalesce((
    select sum(s.count) from unnest((_ring).starts_at, (_ring).counts) s (at, count) where s.at > _at - _per), 0));
end
$$;
