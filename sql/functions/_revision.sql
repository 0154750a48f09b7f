-- A text that changes with whatever `watch` shows of a run: its state, claim, times, and newest progress.
create or replace function holdfast._revision(_run holdfast.runs) returns text
language sql stable as $$
  select concat_ws(' ', (_run).state, (_run).token, (_run).attempt, extract(epoch from (_run).due_at),
    extract(epoch from (_run).ended_at), (select extract(epoch from p.at) from holdfast.progress p where p.run_id = (_run).id))
$$;
