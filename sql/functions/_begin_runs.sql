-- Lets these waiting runs begin at `_at`, under leases of `_worker` as long as the changes say for their workflows.
-- Answers each as its line has to count it. They are locked by the caller, which names those of them that are set aside.
create or replace function holdfast._begin_runs(_worker uuid, _ids uuid[], _aside uuid[], _changes holdfast.line_change[],
  _at timestamptz)
returns table (id uuid, workflow text, group_key text, was_set_aside boolean, is_rate_free boolean)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_hashjoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  -- Said as a text of its own, it would be the condition of an index of all that waits, which were read from end to end.
  _waiting text[] := '{waiting}';
begin
  return query
  with leases as materialized (
    select c.workflow, max(c.lease_ms) * interval '1 ms' as length from unnest(_changes) c group by c.workflow
  )
  update holdfast.runs r
  set state = 'running', token = r.token + 1, worker_id = _worker, claimed_at = _at, is_set_aside = false,
    attempt = r.attempt + case when r.is_resuming then 0 else 1 end,
    lease_until = _at + l.length, recalled = null, reason = null, error = null,
    claim_trace = null
  from leases l
  where r.id = any(_ids) and r.workflow = l.workflow and r.state = any(_waiting)
  returning r.id, r.workflow, coalesce(r.group_key, ''), r.id = any(_aside), r.is_rate_free;
end
$$;
