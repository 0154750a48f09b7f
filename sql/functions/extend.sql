-- Lengthens the lease of a run that was reserved to `lease` from now, cut to the workflow's longest, and answers its new
-- end. Refused when the lease was lost: see _refuse_lost.
create or replace function holdfast.extend(id uuid, token integer, lease interval) returns timestamptz
language plpgsql as $$
declare
  _extended record;
begin
  select e.lease_until_ms, e.lost into _extended
  from holdfast.extend_leases(array[$1], array[$2], array[extract(epoch from lease)::double precision * 1000]) e;
  perform holdfast._refuse_lost($1, _extended.lost);
  return to_timestamp(_extended.lease_until_ms / 1000);
end
$$;
