-- Starts a run for each of these, failed or cancelled just now, that has kept steps which can be undone: it replays their
-- memos to their rollbacks and runs those, the last step's first.
create or replace function holdfast._begin_rollbacks(_ids uuid[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _begun uuid[];
begin
  with begun as (
    insert into holdfast.runs (id, workflow, state, depth, priority, max_attempts, retries, created_at, due_at, keep_seconds,
      keep_done_seconds, group_key, metadata, input, input_types, parent_id, undoes,
      root_id, traceparent)
    select (left(r.id::text, 14) || '8' || substr(gen_random_uuid()::text, 16))::uuid, r.workflow, 'waiting', least(r.depth + 1, 32767), r.priority, greatest(r.max_attempts, 10),
      r.retries, _at, _at, r.keep_seconds, r.keep_done_seconds, r.group_key, r.metadata, r.input, r.input_types, r.id, r.id,
      coalesce(r.root_id, r.id), r.claim_trace
    from holdfast.runs r
    where r.id = any(_ids) and r.undoes is null
      and exists (select from holdfast.steps s where s.run_id = r.id and s.has_rollback)
    returning id
  )
  select array_agg(b.id) into _begun from begun b;
  perform holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at) order by r.priority desc, r.id)
    from holdfast.runs r where r.id = any(_begun)));
end
$$;
