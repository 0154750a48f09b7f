-- Why a claim no longer holds its run: a later claim has it, or nobody has.
create or replace function holdfast._lost_reason(_run uuid, _token integer) returns text
language sql stable as $$
  select case when exists (
    select from holdfast.runs r where r.id = _run and r.state = 'running' and r.token <> _token
  ) then 'superseded' else 'not_found' end
$$;
