-- The run that goes on now where this one was, or did last: itself, unless it was continued as another.
create or replace function holdfast._last_of_chain(_id uuid) returns uuid
language sql stable as $$
  select coalesce((
    select l.id from holdfast.runs r join holdfast.runs l on l.chain_id = coalesce(r.chain_id, r.id)
    where r.id = _id and r.continued_as is not null and l.continued_as is null limit 1), _id)
$$;
