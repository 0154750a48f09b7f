-- Raises for a claim that is lost: WF004 if nobody holds the run now (it has ended, is due again, or never was), WF005 if
-- a later claim holds it.
create or replace function holdfast._refuse_lost(_run uuid, _lost text) returns void
language plpgsql as $$
begin
  if _lost = 'superseded' then
    raise exception 'Run % was claimed anew.', _run using errcode = 'WF005', hint = 'Stop working on it.';
  elsif _lost is not null then
    raise exception 'Run % is not claimed under that token.', _run using errcode = 'WF004', hint = 'Stop working on it.';
  end if;
end
$$;
