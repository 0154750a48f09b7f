-- Brings failed and cancelled runs back, due now, with a new series of attempts. Their kept answers stay, unless
-- _is_fresh; failures and time-outs kept for the handler are dropped, and what was undone, so those steps run again, calls
-- make children anew and waits have their whole time again; a sleep counts on. Answers the runs that exist with what came of
-- them: `retried`, `key_taken` (another run has the key now), `expired` (it is being removed, and its memos may be gone
-- already), `undoing` (its steps are being undone), `outrun` (it undoes a run that has gone on since) or `not_ended` (nothing
-- to retry).
create or replace function holdfast.retry_runs(_ids uuid[], _is_fresh boolean)
returns table (id uuid, outcome text)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _retried uuid[];
  _undoing uuid[];
  _outrun uuid[];
begin
  perform holdfast._require_read_committed();
  insert into holdfast.keys (workflow, key, run_id, dedupe)
  select r.workflow, r.key, r.id, coalesce((
    select (d.policy ->> 'dedupeMs')::double precision from holdfast.definitions d
    where d.workflow = r.workflow order by d.applies_from desc limit 1), 0) * interval '1 ms'
  from holdfast.runs r
  where r.id = any(_ids) and r.key is not null and r.state in ('failed', 'cancelled')
  order by r.workflow, r.key
  on conflict do nothing;
  perform holdfast._lock_keys(_ids);
  perform 1 from (
    select from holdfast.runs r
    where r.id = any(_ids || array(select u.undoes from holdfast.runs u where u.id = any(_ids) and u.undoes is not null))
    order by r.depth, r.id for update of r
  ) locked;
  _at := holdfast._now();

  _undoing := array(select u.undoes from holdfast.runs u where u.undoes = any(_ids) and u.ended_at is null);
  _outrun := array(
    select u.id from holdfast.runs u left join holdfast.runs r on r.id = u.undoes
    where u.id = any(_ids) and u.undoes is not null
      and (coalesce(r.state, 'gone') not in ('failed', 'cancelled') or u.id <> (
        select l.id from holdfast.runs l where l.undoes = u.undoes order by l.created_at desc limit 1)));

  update holdfast.keys k set run_id = r.id
  from holdfast.runs r
  where r.id = any(_ids) and r.state in ('failed', 'cancelled') and k.workflow = r.workflow and k.key = r.key
    and r.id <> all(_undoing) and (k.run_id = r.id or holdfast._is_key_free(k.run_id, k.dedupe, _at));

  -- The last claim lived in the run's row; it moves out before the row goes on.
  insert into holdfast.claims (run_id, token, attempt, worker_id, began_at, ended_at, outcome, recalled, reason, error,
    trace)
  select c.run_id, c.token, c.attempt, c.worker_id, c.began_at, c.ended_at, c.outcome, c.recalled, c.reason, c.error, c.trace
  from holdfast.all_claims c join holdfast.runs r on r.id = c.run_id
  where c.run_id = any(_ids) and r.state in ('failed', 'cancelled')
  on conflict do nothing;
  with retried as (
    update holdfast.runs r
    set state = 'waiting', attempt = 0, retries = r.retries + 1, is_resuming = false, is_rate_free = false, set_aside_at = null, set_aside_for = null,
      due_at = _at, ended_at = null, failure = null,
      reason = null, error = null, output = null, output_types = null, deadline_at = null
    where r.id = any(_ids) and r.state in ('failed', 'cancelled') and r.keep_until > _at
      and r.id <> all(_undoing || _outrun)
      and (r.key is null or exists (
        select from holdfast.keys k where k.workflow = r.workflow and k.key = r.key and k.run_id = r.id))
    returning r.id
  )
  select coalesce(array_agg(id), '{}') into _retried from retried;
  delete from holdfast.steps s
  where s.run_id = any(_retried) and (_is_fresh or s.kind <> 'answer' or s.has_rollback and exists (
    select from holdfast.steps d
    where d.key = s.key and d.kind = 'answer' and d.run_id = (
      select u.id from holdfast.runs u where u.undoes = s.run_id order by u.created_at desc limit 1)));
  delete from holdfast.waits w where w.run_id = any(_retried) and (_is_fresh or w.kind <> 'sleep');
  delete from holdfast.tries t where t.run_id = any(_retried);
  perform holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at) order by r.priority desc, r.id)
    from holdfast.runs r where r.id = any(_retried)));

  perform holdfast._tell_watchers(_retried);

  return query
  select r.id, case when r.id = any(_retried) then 'retried' when r.state not in ('failed', 'cancelled') then 'not_ended'
    when r.id = any(_undoing) then 'undoing' when r.id = any(_outrun) then 'outrun' when r.keep_until > _at then 'key_taken' else 'expired' end
  from holdfast.runs r where r.id = any(_ids);
end
$$;
