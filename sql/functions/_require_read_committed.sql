-- Locking in one statement and reading in the next only sees what was committed meanwhile at `read committed`.
-- At repeatable read, a limit of 1 let in 2 without an error.
create or replace function holdfast._require_read_committed() returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Holdfast decides only at read committed, not at %.', current_setting('transaction_isolation')
      using errcode = 'WF001';
  end if;
end
$$;
