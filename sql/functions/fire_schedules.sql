-- Decides about instants of schedules: starts their runs, and moves the schedules on. Items: workflow, turn as it was
-- looked at, past_at (all instants up to there are decided then), next_at (the first one after that), starts (at, and item
-- as start_runs takes it, in the order of at: the queued one and those wanted up to past_at), and error, if the start of
-- the first instant after past_at could not be made. A schedule that has turned since, or is paused, is left as it is.
--
-- Answers what came of each instant that was decided: started (with its run), known (a run of its key was there), queued,
-- skipped; and failed, with how often in a row and why: that instant and those after it are tried again soon.
create or replace function holdfast.fire_schedules(_items json)
returns table (workflow text, at_ms double precision, outcome text, run_id uuid, failing_count integer,
  error text)
language plpgsql set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  _item record;
  _start record;
  _run record;
  _s holdfast.schedules;
  _now timestamptz;
begin
  perform holdfast._require_read_committed();
  perform 1 from (
    select from holdfast.schedules s
    where s.workflow in (select i.workflow from json_to_recordset(_items) i (workflow text))
    order by s.workflow
    for update of s
  ) locked;
  _now := holdfast._now();
  for _item in
    select * from json_to_recordset(_items) i (workflow text, turn bigint, past_at timestamptz, next_at timestamptz,
      starts json, error text)
    order by i.workflow
  loop
    select s.* into _s from holdfast.schedules s
    where s.workflow = _item.workflow and s.turn = _item.turn and s.paused_at is null;
    continue when not found;
    workflow := _item.workflow;
    for _start in select * from json_to_recordset(_item.starts) i (at timestamptz, item json) order by i.at loop
      at_ms := extract(epoch from _start.at) * 1000;
      run_id := null;
      if _s.spec ->> 'overlap' <> 'allow' and holdfast._is_alive(_s.last_run) then
        if _s.spec ->> 'overlap' = 'queue' then
          continue when _start.at = _s.queued_at;
          _s.skipped_count := _s.skipped_count + (_s.queued_at is not null)::integer;
          _s.queued_at := _start.at;
          outcome := 'queued';
        else
          _s.skipped_count := _s.skipped_count + 1;
          _s.queued_at := nullif(_s.queued_at, _start.at);
          outcome := 'skipped';
        end if;
      else
        select * into _run from holdfast.start_runs(json_build_array(_start.item));
        if _run.is_full then
          -- What was queued is decided up to past_at already.
          _item.past_at := greatest(_s.past_at, _start.at - interval '1 ms');
          _item.next_at := greatest(_s.past_at, _start.at);
          _item.error := 'As many runs of the workflow wait as its maxWaiting allows.';
          exit;
        end if;
        _s.last_at := _start.at;
        _s.last_run := _run.id;
        _s.queued_at := nullif(_s.queued_at, _start.at);
        _s.started_count := _s.started_count + _run.is_created::integer;
        outcome := case when _run.is_created then 'started' else 'known' end;
        run_id := _run.id;
      end if;
      return next;
    end loop;

    _s.failing_count := case when _item.error is null then 0 else _s.failing_count + 1 end;
    update holdfast.schedules s
    set turn = s.turn + 1, past_at = _item.past_at, next_at = _item.next_at, queued_at = _s.queued_at, last_at = _s.last_at,
      last_run = _s.last_run, started_count = _s.started_count, skipped_count = _s.skipped_count,
      failing_count = _s.failing_count,
      failed_count = s.failed_count + (_item.error is not null)::integer,
      failed_at = case when _item.error is null then s.failed_at else _now end,
      last_error = coalesce(_item.error, s.last_error),
      -- Never so long that an instant which comes meanwhile would be a missed one.
      retry_at = case when _item.error is not null then _now + least(5, _s.failing_count) * interval '1 s' end
    where s.workflow = _item.workflow and s.turn = _item.turn and s.paused_at is null;
    if _item.error is not null then
      at_ms := extract(epoch from _item.next_at) * 1000;
      run_id := null;
      outcome := 'failed';
      failing_count := _s.failing_count;
      error := _item.error;
      return next;
      failing_count := null;
      error := null;
    end if;
  end loop;
end
$$;
