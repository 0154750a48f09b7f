-- Answers what a parked run waits for a person to say; `_step` names which, where it waits for several. Answers with
-- `answered` or, having kept nothing, `not_found`, `not_parked`, `answered_before` or `ambiguous`; and the steps parked.
-- The wait's row is locked, not the run's: a claim that ends it just now is waited for, and then it is there no more.
create or replace function holdfast.unpark_run(_run uuid, _step text, _answer json, _types text, _by text)
returns table (outcome text, steps text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _parked text[];
  _wait holdfast.waits;
  _target holdfast.runs;
  _is_new boolean;
begin
  perform holdfast._require_read_committed();
  select r.* into _target from holdfast.runs r where r.id = _run;
  perform from holdfast.waits w where w.run_id = _run and w.kind = 'park' order by w.key for key share;
  _parked := array(
    select split_part(w.key, '[again]', 1) from holdfast.waits w where w.run_id = _run and w.kind = 'park' and _target.ended_at is null order by w.ordinal, w.key);
  select w.* into _wait from holdfast.waits w
  where w.run_id = _run and w.kind = 'park' and _target.ended_at is null and (split_part(w.key, '[again]', 1) = _step or _step is null and cardinality(_parked) = 1);
  if _wait.key is null then
    return query select case when _target.id is null then 'not_found'
      when _step is null and cardinality(_parked) > 1 then 'ambiguous' else 'not_parked' end, array_to_json(_parked)::text;
    return;
  end if;
  insert into holdfast.signals (run_id, id, name, sent_at, sent_by, payload, types)
  values (coalesce(_target.chain_id, _target.id), _wait.name, _wait.name, _at, _by, _answer, _types)
  on conflict do nothing;
  _is_new := found;
  if _is_new then
    perform holdfast._issue_tickets(array[holdfast._wake_ticket(_target, _wait.key || ':park', _at)]);
    if _target.state = 'running' then
      perform holdfast._notify_runs('signalled', array[_run]);
    end if;
  end if;
  return query select case when _is_new then 'answered' else 'answered_before' end, array_to_json(_parked)::text;
end
$$;
