-- Keeps the memos of waits that have ended, under their runs' present claims, and takes the signals that ended them.
create or replace function holdfast._keep_ends(_ends holdfast.wait_end[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, value, types)
  select e.run_id, e.key, e.kind, coalesce(e.seq, (
      select s.seq from holdfast.steps s where s.run_id = e.run_id order by s.seq desc limit 1
    ), 0) + case when e.seq is null then row_number() over (partition by e.run_id order by e.at, e.ordinal) else 0 end,
    e.ordinal, r.attempt, r.token, 1, _at, e.value, e.types
  from unnest(_ends) e
  cross join lateral (select r.attempt, r.token from holdfast.runs r where r.id = e.run_id limit 1) r
  on conflict do nothing;
  update holdfast.signals s set taken_by = e.key, is_early = false from unnest(_ends) e
  where s.arrival = any(array(select a.arrival from unnest(_ends) a)) and s.arrival > 0 and s.taken_by is null and s.arrival = e.arrival;
  delete from holdfast.waits w using unnest(_ends) e
  where w.run_id = any(array(select a.run_id from unnest(_ends) a)) and w.run_id = e.run_id and w.key = e.key;
end
$$;
