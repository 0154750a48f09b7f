-- What follows from the ends of these runs, in the transaction that ended them: those that wait for them are told; kept steps
-- of those that failed or were cancelled (`_failed`) are undone; and children of cancelled ones are asked to be cancelled, a
-- level a transaction, which a worker carries out.
create or replace function holdfast._follow_ends(_ids uuid[], _failed uuid[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _children uuid[];
begin
  perform holdfast._tell_parents(_ids, _at);
  if cardinality(_failed) is null or cardinality(_failed) = 0 then
    return;
  end if;
  perform holdfast._begin_rollbacks(_failed, _at);
  _children := array(
    select c.id from holdfast.runs c
    where c.parent_id = any(_failed) and c.is_cancelled_with_parent and c.ended_at is null
      and (select p.state from holdfast.runs p where p.id = c.parent_id limit 1) = 'cancelled');
  if cardinality(_children) > 0 then
    insert into holdfast.cancels (run_id, asked_at, reason)
    select c.id, _at, 'Its parent was cancelled.' from holdfast.runs c where c.id = any(_children) order by c.id;
    perform holdfast._notify('due');
  end if;
end
$$;
