-- Refuses a workflow that is not on record, and one whose definition that applies has no schedule.
create or replace function holdfast._require_schedule(_workflow text) returns void
language plpgsql stable as $$
begin
  perform holdfast._require_known(_workflow);
  if not exists (select from holdfast.schedules s where s.workflow = _workflow) then
    raise exception 'The workflow "%" has no schedule.', _workflow
      using errcode = 'WF008', hint = 'Give its definition one, and start a worker that has it.';
  end if;
end
$$;
