-- For claim_lines, whose tickets come one array a column: lines with room for all that come are quickly done
-- (_take_places), and what there is to decide about the others, _fill decides. `_named` are the runs that the tickets
-- name. Answers the runs claimed.
create or replace function holdfast._claim_places(_worker uuid, _workflows text[], _groups text[],
  _leases_ms double precision[], _named uuid[]) returns uuid[]
language plpgsql as $$
declare
  _places record;
  _begun record;
begin
  _places := holdfast._take_places(_workflows, _groups, _leases_ms);
  if cardinality(_places._others) > 0 then
    perform holdfast._lock_lines(_places._others);
  end if;
  perform holdfast._wake_runs(_named);
  if cardinality(_places._booked) = 0 then
    return holdfast._fill(_worker, _places._others, _named);
  end if;
  _begun := holdfast._begin_best(_worker, _places._booked, _named, _places._at);
  if cardinality(_places._others) + cardinality(_begun._changes) + cardinality(_begun._left) = 0 then
    return _begun._taken;
  end if;
  return _begun._taken || holdfast._fill(_worker, _places._others || _begun._changes, _begun._left);
end
$$;
