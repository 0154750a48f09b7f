-- Ends claims, one array a column. Outcomes: done, continued, retry, snooze, failed, suspended, released. Details, if there
-- are any: delay_ms, failure (cause, for failed; for retry, the cause if no attempt is left), reason, error, memos (failures
-- the handler went past), tries (steps that were tried and not kept), next (an item of start_runs: the run that goes on
-- under the key of one that is continued). What a suspended run waits for is on record already (open_waits). Answers only
-- the claims that were lost, n from 1, with the reason.
--
-- Whoever gives a lease beside its claim (_leases_ms) asks for the next run of its line, if a limit rules it, and gets it
-- in this call: those are answered as claim_lines does, without n.
--
-- _traces are the traceparents of the claims' spans, of those that were traced.
--
-- Past its deadline a run fails, whatever the claim answers. A settle repeated after its reply was lost finds the claim
-- ended just so, or failed, by the same worker, and counts as done.
create or replace function holdfast.settle_runs(_worker uuid, _ids uuid[], _tokens integer[], _outcomes text[],
  _recalled integer[], _outputs json[], _output_types text[], _details json[], _leases_ms double precision[] default null,
  _traces text[] default null)
returns table (n integer, lost text, id uuid, token integer, workflow text, key text, group_key text, attempt smallint,
  max_attempts smallint, deadline_ms double precision, metadata text, input text, input_types text,
  memos text, tries text, lease_until_ms double precision, is_limited boolean, rare text, waited_ms double precision, age_ms double precision,
  past text)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _given record;
  _given_back integer;
  _at timestamptz;
  _settled uuid[];
  _open uuid[];
  _ended uuid[];
  _failed uuid[];
  _suspended uuid[];
  _tickets holdfast_queue.job_spec[];
  _is_due_soon boolean;
  _has_leftovers boolean;
  _taken uuid[];
begin
  perform holdfast._require_read_committed();
  _given := holdfast._give_places(_ids);
  _at := coalesce(_given._at, holdfast._now());
  if 'continued' = any(_outcomes) then
    perform holdfast._lock_keys(_ids);
  end if;
  with locked as materialized (
    select r.id, r.token, r.worker_id, r.attempt >= r.max_attempts as is_last, r.deadline_at
    from holdfast.runs r where r.id = any(_ids)
    order by r.depth, r.id
    for update of r
  ), decided as (
    select i.*, l.deadline_at, l.deadline_at <= _at and i.outcome <> 'failed' as is_late, case
        when l.deadline_at <= _at or i.outcome = 'retry' and l.is_last then 'failed'
        when i.outcome in ('done', 'failed', 'suspended') then i.outcome
        when i.outcome = 'continued' then 'done'
        when (i.details ->> 'delay_ms')::double precision > 0 then 'scheduled'
        else 'waiting'
      end as state
    from locked l
    join unnest(_ids, _tokens, _outcomes, _recalled, _outputs, _output_types, _details, _traces)
      i (id, token, outcome, recalled, output, output_types, details, trace) on i.id = l.id and i.token = l.token
    where l.worker_id = _worker
  ), settled as (
    update holdfast.runs r
    set state = d.state, token = r.token + 1, lease_until = null, recalled = d.recalled,
      claim_trace = coalesce(d.trace, r.claim_trace), set_aside_at = null, set_aside_for = null, error = d.details -> 'error',
      reason = case when d.is_late then 'The run was not done by its deadline.' else d.details ->> 'reason' end,
      output = case when d.state = 'done' then d.output end,
      output_types = case when d.state = 'done' then d.output_types end,
      continued_as = case when d.state = 'done' then (d.details -> 'next' ->> 'id')::uuid end,
      failure = case when d.is_late then 'deadline' when d.state = 'failed' then coalesce(d.details ->> 'failure', 'attempts_exhausted') end,
      is_resuming = d.outcome in ('snooze', 'suspended', 'released'),
      is_rate_free = d.outcome in ('suspended', 'released'),
      ended_at = case when d.state in ('done', 'failed') then _at end,
      due_at = case when d.state in ('done', 'failed') or d.outcome = 'released' then r.due_at
        else least(_at + (d.details ->> 'delay_ms')::double precision * interval '1 ms', d.deadline_at,
          case when d.outcome = 'suspended' then (
            select min(w.due_at) from holdfast.waits w where w.run_id = d.id) end) end
    from decided d
    where r.id = any(_ids) and r.id = d.id and r.token = d.token
    returning r.id, r.state, r.workflow = any(_given._workflows) as is_given_back,
      d.details -> 'memos' is not null or d.details -> 'tries' is not null as has_leftovers
  )
  select coalesce(array_agg(id), '{}'), array_agg(id) filter (where state not in ('done', 'failed')),
    array_agg(id) filter (where state in ('done', 'failed')), array_agg(id) filter (where state = 'failed'),
    array_agg(id) filter (where state = 'suspended'),
    bool_or(has_leftovers), count(*) filter (where is_given_back)
  into _settled, _open, _ended, _failed, _suspended, _has_leftovers, _given_back from settled;

  if _has_leftovers then
    perform holdfast._keep_leftovers(_ids, _tokens, _details, _settled);
  end if;

  if _open is not null then
    insert into holdfast.claims (run_id, token, attempt, worker_id, began_at, ended_at, outcome, recalled, reason,
      error, trace)
    select r.id, r.token - 1, r.attempt, r.worker_id, r.claimed_at, _at, i.outcome, r.recalled, r.reason, r.error,
      r.claim_trace
    from holdfast.runs r join unnest(_ids, _tokens, _outcomes) i (id, token, outcome)
      on i.id = r.id and i.token = r.token - 1
    where r.id = any(_open);

    if _suspended is not null then
      -- Whatever came before the lock was taken is seen here; whatever comes later brings its own ticket.
      perform holdfast._bind_signals(_suspended);
      update holdfast.runs r set state = 'waiting', due_at = least(r.due_at, _at)
      where r.id = any(_suspended) and r.state = 'suspended' and holdfast._is_woken(r, _at);
    end if;

    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at)
        order by r.priority desc, r.due_at, r.id) filter (where r.state = 'waiting'),
      bool_or(r.state <> 'waiting' and r.due_at <= _at + interval '5 s')
    into _tickets, _is_due_soon
    from holdfast.runs r where r.id = any(_open);
    perform holdfast._issue_tickets(_tickets);
    if _is_due_soon then
      perform holdfast._notify('due');
    end if;
  end if;

  if _ended is not null then
    if 'continued' = any(_outcomes) then
      perform holdfast._continue_runs(_ended, _details);
    end if;
    if _failed is not null or exists (select from holdfast.waits w where w.child_id is not null) then
      perform holdfast._follow_ends(_ended, _failed, _at);
    end if;
  end if;

  if _given._open is not null or _given._has_wide or _given._places > _given_back then
    _taken := holdfast._give_room(_worker, _settled, _ids, _leases_ms, _given._open, _given._places > _given_back, _at);
    perform holdfast._end_waits(_taken, _at);
    return query select null::integer, null, c.* from holdfast._claims(_taken, _at, true, null) c;
  end if;
  perform holdfast._tell_watchers(_settled || _taken);

  if cardinality(_settled) < cardinality(_ids) then
    return query
    select i.n::integer, holdfast._lost_reason(i.id, i.token), none.*
    from unnest(_ids, _tokens, _outcomes, _details) with ordinality i (id, token, outcome, details, n)
    left join holdfast._claims(null, _at, null, null) none on false
    where not exists (
      select from holdfast.all_claims c
      where c.run_id = i.id and c.token = i.token and c.worker_id = _worker and c.ended_at is not null
        and c.outcome in (case i.outcome when 'continued' then 'done' else i.outcome end, 'failed')
        and (c.outcome <> 'done' or (i.details -> 'next' ->> 'id')::uuid is not distinct from (
          select r.continued_as from holdfast.runs r where r.id = i.id limit 1)));
  end if;
end
$$;
