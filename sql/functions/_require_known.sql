-- Refuses a workflow that no worker and no client has ever put on record.
create or replace function holdfast._require_known(_workflow text) returns void
language plpgsql stable as $$
begin
  if not exists (select from holdfast.definitions d where d.workflow = _workflow) then
    raise exception 'No workflow "%" is on record.', _workflow
      using errcode = 'WF002', hint = 'Start a worker that has it, or start it once from TypeScript.';
  end if;
end
$$;
