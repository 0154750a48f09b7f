-- Removes ended runs before their time. Answers the runs that exist with what came of them: `deleted`, `going` (it has so
-- many steps that the sweep removes the rest), `not_ended`, or `too_early` and the milliseconds until it may go: ten
-- minutes after its end, and not while its key is taken for `dedupe`.
create or replace function holdfast.delete_runs(_ids uuid[])
returns table (id uuid, outcome text, wait_ms double precision)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _going uuid[];
  _gone uuid[];
begin
  perform holdfast._require_read_committed();
  perform 1 from (
    select from holdfast.keys k join holdfast.runs r on r.workflow = k.workflow and r.key = k.key and r.id = k.run_id
    where r.id = any(_ids)
    order by k.workflow, k.key
    for update of k
  ) keyed;
  perform 1 from (
    select from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for update of r
  ) locked;
  _at := holdfast._now();

  return query
  select r.id, case when r.ended_at is null then 'not_ended' else 'too_early' end,
    (extract(epoch from greatest(r.ended_at + interval '10 minutes', r.ended_at + k.dedupe) - _at) * 1000)::double precision
  from holdfast.runs r
  left join holdfast.keys k on k.workflow = r.workflow and k.key = r.key and k.run_id = r.id
  where r.id = any(_ids)
    and (r.ended_at is null or greatest(r.ended_at + interval '10 minutes', r.ended_at + k.dedupe) > _at);

  with going as (
    update holdfast.runs r set keep_seconds = 0, keep_done_seconds = 0
    from holdfast.runs o
    left join holdfast.keys k on k.workflow = o.workflow and k.key = o.key and k.run_id = o.id
    where r.id = any(_ids) and o.id = r.id
      and greatest(o.ended_at + interval '10 minutes', o.ended_at + k.dedupe) <= _at
    returning r.id
  )
  select coalesce(array_agg(going.id), '{}') into _going from going;
  _gone := holdfast._remove_runs(_going, 5000);
  perform holdfast._tell_watchers(_gone);
  return query
  select g.id, case when g.id = any(_gone) then 'deleted' else 'going' end, null::double precision from unnest(_going) g (id);
end
$$;
