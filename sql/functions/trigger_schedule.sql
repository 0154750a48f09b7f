-- Starts a run now with what a workflow's schedule starts its runs with, paused or not. The schedule itself stays as it is:
-- such a run holds off no other. Refused as holdfast.start is.
create or replace function holdfast.trigger_schedule(_workflow text, _id uuid, _group text, _by text)
returns table (id uuid, created boolean, state text)
language plpgsql as $$
#variable_conflict use_column
declare
  _key text := 'trigger ' || _id;
  _spec json;
  _item jsonb;
begin
  perform holdfast._require_schedule(_workflow);
  select s.spec into _spec from holdfast.schedules s where s.workflow = _workflow;
  _item := holdfast._start_item(_workflow, (_spec ->> 'inputJson')::json, _key, _group, null, null, _id,
    json_build_object('scheduledFor', to_char(holdfast._now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'triggeredBy', coalesce(_by, 'somebody')), null, null);
  return query
  select r.id, r.is_created, r.state
  from holdfast.start_runs(json_build_array(_item || jsonb_build_object('input_types', _spec ->> 'inputTypes'))) r
  where holdfast._check_started(_workflow, _key, _id, r.is_full, r.is_same_workflow, r.is_same_input);
end
$$;
