-- Keeps the newest progress of runs in flight. Items: id, token, value, types. A claim that is lost keeps nothing.
create or replace function holdfast.keep_progress(_items json) returns integer
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
declare
  _ids uuid[] := array(select i.id from json_to_recordset(_items) i (id uuid));
  _count integer;
begin
  perform holdfast._require_read_committed();
  with items as materialized (
    select distinct on (x.id) x.*
    from rows from (json_to_recordset(_items) as (id uuid, token integer, value text, types text))
      with ordinality x (id, token, value, types, n)
    order by x.id, x.token desc, x.n desc
  ), fenced as materialized (
    select r.id, r.token from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for key share of r
  )
  insert into holdfast.progress as p (run_id, token, at, value, types)
  select i.id, i.token, holdfast._now(), i.value::json, i.types
  from items i join fenced f on f.id = i.id and f.token = i.token
  order by i.id
  on conflict (run_id) do update
  set token = excluded.token, at = excluded.at, value = excluded.value, types = excluded.types;
  get diagnostics _count = row_count;
  perform holdfast._tell_watchers(_ids);
  return _count;
end
$$;
