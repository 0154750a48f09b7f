-- One run as `get` shows it, by its id or by its workflow and key; its last 100 claims, the newest first; and of a waiting
-- one how many of its line go before it, counted up to 10,000.
create or replace function holdfast.find_run(_id uuid, _workflow text, _key text)
returns table (run text, revision text, ahead integer, claims text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select to_json(v)::text, holdfast._revision(r), holdfast._ahead(r, 10000), (
    select coalesce(json_agg(json_build_object('token', c.token, 'attempt', c.attempt, 'worker', c.worker_id,
      'beganAt', c.began_at, 'endedAt', c.ended_at, 'outcome', c.outcome, 'recalled', c.recalled, 'reason', c.reason,
      'trace', c.trace) order by c.token desc), '[]')
    from (select * from holdfast.all_claims a where a.run_id = v.id order by a.token desc limit 100) c)::text
  from holdfast.run_views v join holdfast.runs r on r.id = v.id
  where v.id = coalesce(_id, (select k.run_id from holdfast.keys k where k.workflow = _workflow and k.key = _key))
$$;
