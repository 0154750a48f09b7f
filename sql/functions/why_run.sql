-- Why a run does not go on, as JSON: its state and place, and what holds it back, the weightiest first. Null: there is no
-- such run. Holders of a full limit are the oldest 100.
create or replace function holdfast.why_run(_id uuid) returns text
language plpgsql stable as $$
declare
  _run holdfast.runs;
  _limits holdfast.limits;
  _at timestamptz := holdfast._now();
  _paused holdfast.overrides;
  _wide holdfast.lines;
  _group holdfast.lines;
  _ahead integer;
  _waiting integer;
  _reasons json[] := '{}';
begin
  select r.* into _run from holdfast.runs r where r.id = _id;
  if _run.id is null then
    return null;
  end if;
  select m.* into _limits from holdfast.limits m where m.workflow = _run.workflow;
  select l.* into _wide from holdfast.lines l where l.workflow = _run.workflow and l.group_key = '' and l.is_wide;
  select l.* into _group from holdfast.lines l
  where l.workflow = _run.workflow and l.group_key = nullif(_run.group_key, '') and not l.is_wide;
  _ahead := holdfast._ahead(_run, null);
  if _run.state = 'waiting' then
    select count(*) into _waiting from holdfast.runs r
    where r.workflow = _run.workflow and r.state = 'waiting'
      and (r.group_key = _run.group_key or not holdfast._has_own_line(_run));
  end if;

  if _run.ended_at is not null then
    _reasons := _reasons || json_build_object('kind', 'ended', 'state', _run.state, 'at', _run.ended_at, 'failure', _run.failure,
      'reason', _run.reason);
  elsif _run.state = 'running' then
    _reasons := _reasons || (
      select json_build_object('kind', 'running', 'since', _run.claimed_at, 'leaseUntil', _run.lease_until,
        'worker', _run.worker_id, 'workerName', w.name, 'isDead', w.ended_at is not null)
      from (select) x left join holdfast.workers w on w.id = _run.worker_id);
  elsif _run.state = 'scheduled' then
    _reasons := _reasons || (
      select json_build_object('kind', 'scheduled', 'until', _run.due_at, 'after', coalesce(c.outcome, 'start'), 'reason', _run.reason)
      from (select) x
      left join holdfast.claims c on c.run_id = _run.id and c.token = _run.token - 1);
  elsif _run.state = 'suspended' then
    _reasons := _reasons || json_build_object('kind', 'suspended', 'until', _run.due_at, 'waits', (
      select coalesce(json_agg(json_build_object('step', w.key, 'kind', w.kind, 'signal', case when w.kind = 'signal' then w.name end,
        'child', w.child_id, 'reason', w.reason, 'since', w.opened_at, 'until', w.due_at) order by w.ordinal, w.key), '[]')
      from holdfast.waits w where w.run_id = _run.id));
  end if;

  if _run.state in ('scheduled', 'waiting', 'suspended') then
    select o.* into _paused from holdfast.overrides o where o.workflow = _run.workflow and o.paused_at is not null;
    if _paused.workflow is not null then
      _reasons := _reasons || json_build_object('kind', 'paused', 'since', _paused.paused_at, 'by', _paused.paused_by,
        'reason', _paused.pause_reason);
    end if;
    if not exists (select from holdfast.workers w where w.ended_at is null and _run.workflow = any(w.workflows)) then
      _reasons := _reasons || json_build_object('kind', 'no_worker');
    end if;
  end if;

  if _run.state = 'waiting' then
    if _group.live >= _limits.group_concurrency then
      _reasons := _reasons || json_build_object('kind', 'concurrency', 'of', 'group', 'limit', _limits.group_concurrency,
        'live', _group.live, 'holders', holdfast._holders(_run.workflow, _run.group_key));
    end if;
    if _wide.live >= _limits.concurrency then
      _reasons := _reasons || json_build_object('kind', 'concurrency', 'of', 'workflow', 'limit', _limits.concurrency,
        'live', _wide.live, 'holders', holdfast._holders(_run.workflow, null));
    end if;
    if not _run.is_rate_free and _group.workflow is not null
      and holdfast._rate_left(_limits.group_rate, _limits.group_rate_per, _group.ring, _at) = 0 then
      _reasons := _reasons || json_build_object('kind', 'rate', 'of', 'group', 'limit', _limits.group_rate,
        'perMs', extract(epoch from _limits.group_rate_per) * 1000,
        'opensAt', holdfast._rate_opens_at(_limits.group_rate_per, _group.ring, _at));
    end if;
    if not _run.is_rate_free and _wide.workflow is not null
      and holdfast._rate_left(_limits.rate, _limits.rate_per, _wide.ring, _at) = 0 then
      _reasons := _reasons || json_build_object('kind', 'rate', 'of', 'workflow', 'limit', _limits.rate,
        'perMs', extract(epoch from _limits.rate_per) * 1000,
        'opensAt', holdfast._rate_opens_at(_limits.rate_per, _wide.ring, _at));
    end if;
    if _ahead > 0 then
      _reasons := _reasons || json_build_object('kind', 'line', 'ahead', _ahead, 'waiting', _waiting);
    end if;
    _reasons := _reasons || coalesce((
      select array_agg(json_build_object('kind', 'slots', 'slots', w.slots, 'running', w.running)) from (
        select sum(w.slots) as slots, sum((
          select count(*) from holdfast.runs r where r.worker_id = w.id and r.token % 2 = 1)) as running
        from holdfast.workers w where w.ended_at is null and _run.workflow = any(w.workflows)
      ) w where w.running >= w.slots), '{}');
    if cardinality(_reasons) = 0 then
      _reasons := _reasons || json_build_object('kind', 'due', 'since', _run.due_at);
    end if;
  end if;

  return json_build_object('run', _run.id, 'workflow', _run.workflow, 'group', nullif(_run.group_key, ''), 'state', _run.state,
    'ahead', _ahead, 'waiting', _waiting, 'at', _at, 'reasons', array_to_json(_reasons))::text;
end
$$;
