-- Of these runs, those that nobody need wait for any more: they have ended, or are not there.
create or replace function holdfast.ended_runs(_ids uuid[]) returns table (id uuid)
language sql stable as $$
  select i.id
  from unnest(_ids) i (id)
  where (select r.id from holdfast.runs r where r.id = i.id and r.ended_at is null limit 1) is null
$$;
