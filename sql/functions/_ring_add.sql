-- The ring after `_count` more starts at `_at`, without those that are over. Under a rate of up to 199 each instant is
-- kept; above, up to a hundredth of the limit share one, the last of theirs. So a rate is never exceeded, at most a
-- hundredth of it comes late, and a ring holds at most some 200 instants.
create or replace function holdfast._ring_add(_ring holdfast.ring, _limit integer, _per interval, _at timestamptz,
  _count integer) returns holdfast.ring
language plpgsql immutable as $$
declare
  _over integer;
  _starts_at timestamptz[] := coalesce((_ring).starts_at, '{}');
  _counts integer[] := coalesce((_ring).counts, '{}');
  _last integer;
begin
  if _limit is null or _count = 0 then
    return _ring;
  end if;
  select count(*) into _over from unnest(_starts_at) s (at) where s.at <= _at - _per;
  _starts_at := _starts_at[_over + 1 : ];
  _counts := _counts[_over + 1 : ];
  _last := cardinality(_counts);
  if _last > 0 and (_counts[_last] + _count <= _limit / 100 or _starts_at[_last] = _at) then
    _starts_at[_last] := _at;
    _counts[_last] := _counts[_last] + _count;
  else
    _starts_at := _starts_at || _at;
    _counts := _counts || _count;
  end if;
  return row(_starts_at, _counts)::holdfast.ring;
end
$$;
