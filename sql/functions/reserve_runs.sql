-- Claims by hand: takes up to `_max` due runs of these workflows, in the order listed and within each by priority, due
-- time and id, as their limits let them, under leases of `_lease_ms` (null: the workflow's), cut to what each workflow
-- allows. They need no ticket any more. It keeps house too, since there may be no worker. Answers as claim_runs does.
create or replace function holdfast.reserve_runs(_worker uuid, _workflows text[], _max integer, _lease_ms double precision)
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint, max_attempts smallint,
  metadata text, input text, input_types text, lease_until_ms double precision)
language plpgsql set enable_seqscan = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _lines holdfast.line_change[];
  _picked uuid[];
  _ids uuid[];
  _taken uuid[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._hold_limits();
  if exists (select from holdfast.limits) then
    perform holdfast._lock_lines(holdfast._lines_of_house() || holdfast._lines_to_reserve(_workflows, _max));
  end if;
  perform holdfast._keep_house();
  _lines := holdfast._lines_to_reserve(_workflows, _max);
  perform holdfast._lock_lines(_lines);
  _at := holdfast._now();
  _picked := holdfast._pick_runs(_lines, '{}', _at);
  _ids := array(
    select r.id
    from unnest(_workflows) with ordinality w (name, n)
    cross join lateral (
      select * from (
        select r.id, -1 - r.priority as rank, r.due_at from holdfast.runs r
        where r.workflow = w.name and r.state = 'waiting' and r.due_at <= _at
          and w.name not in (select m.workflow from holdfast.limits m)
        order by -1 - r.priority, r.due_at, r.id
        limit _max
        for update of r skip locked
      ) free
      union all
      select r.id, -1 - r.priority, r.due_at from holdfast.runs r
      where r.id = any(_picked) and r.workflow = w.name
    ) r
    order by w.n, r.rank, r.due_at, r.id
    limit _max);
  _lines := array(
    select row(r.workflow, coalesce(r.group_key, ''), count(*),
      max(extract(epoch from holdfast._lease(r.workflow, _lease_ms)) * 1000), count(*), 0, 0, 0, 0, 0)::holdfast.line_change
    from holdfast.runs r where r.id = any(_ids) and r.id = any(_picked) group by r.workflow, coalesce(r.group_key, ''));
  if cardinality(_lines) > 0 then
    -- Where groups take turns, the best may be others.
    _taken := holdfast._fill(_worker, _lines, '{}');
    perform holdfast_queue.remove_job(r.id || ':' || r.token - 1) from holdfast.runs r where r.id = any(_taken);
  end if;
  perform holdfast_queue.remove_job(r.id || ':' || r.token) from holdfast.runs r
  where r.id = any(_ids) and r.id <> all(_picked);
  return query
  select c.id, c.token, c.workflow, c.key, c.group_key, c.attempt, c.max_attempts, c.metadata, c.input, c.input_types,
    c.lease_until_ms
  from (
    select * from holdfast._claims(_taken, _at, true, null)
    union all
    select * from holdfast.claim_runs(_worker, array(select i from unnest(_ids) i where i <> all(_picked)), array(
      select extract(epoch from holdfast._lease(r.workflow, _lease_ms)) * 1000
      from unnest(_ids) with ordinality i (id, n) join holdfast.runs r on r.id = i.id
      where i.id <> all(_picked) order by i.n), false)
  ) c
  order by array_position(_workflows, c.workflow), array_position(_ids || _taken, c.id);
end
$$;
