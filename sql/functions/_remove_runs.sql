-- Removes these runs and all that is theirs, no more than about `_limit` step rows at once: of a run with more the oldest
-- go, and the run with the last. Their rows are locked by the caller, and their time is over. Answers the runs removed.
create or replace function holdfast._remove_runs(_ids uuid[], _limit integer) returns uuid[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _whole uuid[];
begin
  with doomed as materialized (
    select s.ctid, s.run_id from unnest(_ids) with ordinality i (id, n) cross join lateral (
      select s.ctid, s.run_id, s.seq from holdfast.steps s where s.run_id = i.id order by s.seq limit _limit
    ) s
    order by i.n, s.seq
    limit _limit
  )
  delete from holdfast.steps s using doomed d where s.run_id = d.run_id and s.ctid = d.ctid;
  select coalesce(array_agg(i.id), '{}') into _whole from unnest(_ids) i (id)
  where not exists (select from holdfast.steps s where s.run_id = i.id);

  delete from holdfast.keys k using holdfast.runs r
  where r.id = any(_whole) and r.key is not null and k.workflow = r.workflow and k.key = r.key and k.run_id = r.id;
  delete from holdfast.tries t where t.run_id = any(_whole);
  delete from holdfast.claims c where c.run_id = any(_whole);
  delete from holdfast.waits w where w.run_id = any(_whole);
  -- The signals of a chain go with the last of its runs, and those that were taken with the run that was there.
  delete from holdfast.signals s using holdfast.runs r
  where r.id = any(_whole) and s.run_id = coalesce(r.chain_id, r.id)
    and (r.continued_as is null or s.taken_by is not null and s.sent_at <= r.ended_at);
  delete from holdfast.progress p where p.run_id = any(_whole);
  perform holdfast._forget_runs(_whole);
  delete from holdfast.runs r where r.id = any(_whole);
  return _whole;
end
$$;
