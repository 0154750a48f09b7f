-- For a claim that begins: whatever these runs waited for and has come is kept, in the order in which it came, before the
-- handler runs.
create or replace function holdfast._end_waits(_ids uuid[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _waiting uuid[];
  _ends holdfast.wait_end[];
begin
  _waiting := array(select i from unnest(_ids) i 
    where (select w.key from holdfast.waits w where w.run_id = i limit 1) is not null);
  if cardinality(_waiting) > 0 then
    _ends := array(select e from holdfast._wait_ends(_waiting, _at) e);
    if cardinality(_ends) > 0 then
      perform holdfast._keep_ends(_ends, _at);
    end if;
  end if;
end
$$;
