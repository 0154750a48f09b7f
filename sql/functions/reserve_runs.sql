-- Claims by hand: takes up to `_max` due runs of these workflows, in the order listed and within each by priority, due
-- time and id, under leases of `_lease_ms` (null: the workflow's), cut to what each workflow allows. They need no ticket
-- any more. It keeps house too, since there may be no worker. Answers as claim_runs does, and when each lease is over, in milliseconds since 1970.
create or replace function holdfast.reserve_runs(_worker uuid, _workflows text[], _max integer, _lease_ms double precision)
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint, max_attempts smallint,
  metadata text, input text, input_types text, lease_until_ms double precision)
language plpgsql set enable_seqscan = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _ids uuid[];
  _leases_ms double precision[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._keep_house();
  _at := holdfast._now();
  _ids := array(
    select r.id
    from unnest(_workflows) with ordinality w (name, n)
    cross join lateral (
      select r.id, -1 - r.priority as rank, r.due_at from holdfast.runs r
      where r.workflow = w.name and r.state = 'waiting' and r.due_at <= _at
      order by -1 - r.priority, r.due_at, r.id
      limit _max
      for update of r skip locked
    ) r
    order by w.n, r.rank, r.due_at, r.id
    limit _max);
  perform holdfast_queue.remove_job(r.id || ':' || r.token) from holdfast.runs r where r.id = any(_ids);
  _leases_ms := array(
    select extract(epoch from holdfast._lease(r.workflow, _lease_ms)) * 1000
    from unnest(_ids) with ordinality i (id, n) join holdfast.runs r on r.id = i.id order by i.n);
  return query
  select c.id, c.token, c.workflow, c.key, c.group_key, c.attempt, c.max_attempts, c.metadata, c.input, c.input_types,
    c.lease_until_ms
  from holdfast.claim_runs(_worker, _ids, _leases_ms, false) c
  order by array_position(_ids, c.id);
end
$$;
