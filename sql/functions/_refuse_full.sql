-- For holdfast.start: refuses a run of a workflow of which as many wait as may.
create or replace function holdfast._refuse_full(_workflow text) returns uuid
language plpgsql as $$
begin
  raise exception 'As many runs of "%" wait as its maxWaiting allows.', _workflow
    using errcode = 'WF003', hint = 'Start it again later, or run more workers.';
end
$$;
