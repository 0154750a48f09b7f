-- How open waits of these runs have ended by `_at`, the runs locked by the caller: with a signal, of one name each in the
-- order in which they came, or with their time. A signal that came in time goes before it, however late anybody looks.
create or replace function holdfast._wait_ends(_ids uuid[], _at timestamptz) returns setof holdfast.wait_end
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _signal record;
  _wait record;
  _taken text[] := '{}';
begin
  for _signal in
    select n.run_id, n.name, s.arrival, s.sent_at, s.kind, s.payload, s.types
    from (
      select w.run_id, w.name, count(*) as waits from holdfast.waits w
      where w.run_id = any(_ids) and w.name is not null
      group by w.run_id, w.name
    ) n
    cross join lateral (select r.id, r.chain_id from holdfast.runs r where r.id = n.run_id limit 1) r
    cross join lateral (
      select s.* from holdfast.signals s
      where s.run_id = coalesce(r.chain_id, r.id) and s.name = n.name and s.taken_by is null
      order by s.arrival limit n.waits
    ) s
    order by s.arrival
  loop
    select w.key, w.ordinal into _wait from holdfast.waits w
    where w.run_id = _signal.run_id and w.name = _signal.name and (w.due_at is null or w.due_at >= _signal.sent_at)
      and w.run_id || w.key <> all(_taken)
    order by w.ordinal, w.key limit 1;
    if found then
      _taken := _taken || (_signal.run_id || _wait.key);
      return next row(_signal.run_id, _wait.key, _wait.ordinal, _signal.kind, _signal.payload, _signal.types, _signal.sent_at,
        _signal.arrival, null)::holdfast.wait_end;
    end if;
  end loop;
  return query
  select w.run_id, w.key, w.ordinal, case when w.kind = 'sleep' then 'answer' else 'timeout' end, 'null'::json, null::text,
    w.due_at, null::bigint, null::integer
  from holdfast.waits w
  where w.run_id = any(_ids) and w.due_at <= _at and w.run_id || w.key <> all(_taken);
end
$$;
