-- For holdfast.start: raises for what start_runs answered and client.start would throw; true for anything else.
create or replace function holdfast._check_started(_workflow text, _key text, _id uuid, _is_full boolean,
  _is_same_workflow boolean, _is_same_input boolean) returns boolean
language plpgsql stable as $$
begin
  if _is_full then
    raise exception 'As many runs of "%" wait as its maxWaiting allows.', _workflow
      using errcode = 'WF003', hint = 'Start it again later, or run more workers.';
  elsif not _is_same_workflow then
    raise exception 'The id % is that of a run of another workflow.', _id
      using errcode = 'WF007', hint = 'Leave the id out, or use one id for one run.';
  elsif not _is_same_input then
    raise exception '"%" names a run that was started with another input.', coalesce(_key, _id::text)
      using errcode = 'WF006', hint = 'Use another key, or say allow_different_input => true to get that run.';
  end if;
  return true;
end
$$;
