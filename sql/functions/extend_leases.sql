-- Lengthens leases to so many milliseconds from now, at most the workflow's longest, one array a column. None is made
-- shorter. Answers each one's end in milliseconds since 1970 and how far off that is, or why it is lost, n from 1.
create or replace function holdfast.extend_leases(_ids uuid[], _tokens integer[], _leases_ms double precision[])
returns table (n integer, lease_until_ms double precision, left_ms double precision, lost text)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
begin
  perform holdfast._require_read_committed();
  perform 1 from (
    select from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for no key update of r
  ) locked;
  _at := holdfast._now();
  return query
  with extended as (
    update holdfast.runs r
    set lease_until = greatest(r.lease_until, _at + holdfast._lease(r.workflow, i.lease_ms))
    from unnest(_ids, _tokens, _leases_ms) i (id, token, lease_ms)
    where r.id = any(_ids) and r.id = i.id and r.token = i.token
    returning r.id, r.token, r.lease_until
  )
  select i.n::integer, (extract(epoch from e.lease_until) * 1000)::double precision,
    (extract(epoch from e.lease_until - _at) * 1000)::double precision,
    case when e.id is null then holdfast._lost_reason(i.id, i.token) end
  from unnest(_ids, _tokens) with ordinality i (id, token, n)
  left join extended e on e.id = i.id and e.token = i.token
  order by i.n;
end
$$;
