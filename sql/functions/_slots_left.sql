-- How many more may run at once; at most 1,000, also where there is no cap: what is more comes in further rounds.
create or replace function holdfast._slots_left(_limit integer, _live integer) returns integer
language sql immutable as $$
  select case when _limit is null then 1000 else least(1000, greatest(0, _limit - _live)) end
$$;
