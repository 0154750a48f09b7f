-- For start_runs and open_waits: takes the keys of these items that are free. Items: id, workflow, key, dedupe_ms. Of a key it
-- locks a row only if that key's run has ended, and decides in a later statement than the one that locked.
create or replace function holdfast._take_keys(_items json, _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _ids uuid[] := array(select i.id from json_to_recordset(_items) i (id uuid));
begin
  insert into holdfast.keys (workflow, key, run_id, dedupe)
  select i.workflow, i.key, i.id, i.dedupe_ms * interval '1 ms'
  from json_to_recordset(_items) i (id uuid, workflow text, key text, dedupe_ms double precision)
  where i.key is not null and (select r.id from holdfast.runs r where r.id = i.id limit 1) is null
  order by i.workflow, i.key
  on conflict do nothing;

  perform 1
  from (
    select i.* from json_to_recordset(_items) i (id uuid, workflow text, key text)
    where i.key is not null and (select r.id from holdfast.runs r where r.id = i.id limit 1) is null
    order by i.workflow, i.key
  ) i cross join lateral (
    select from holdfast.keys k
    where k.workflow = i.workflow and k.key = i.key and k.run_id <> all(_ids)
      and holdfast._is_key_free(k.run_id, k.dedupe, _at)
    for update of k
  ) freed;
  if found then
    update holdfast.keys k
    set run_id = i.id, dedupe = i.dedupe_ms * interval '1 ms'
    from (
      select distinct on (i.workflow, i.key) i.*
      from json_to_recordset(_items) i (id uuid, workflow text, key text, dedupe_ms double precision)
      where i.key is not null and (select r.id from holdfast.runs r where r.id = i.id limit 1) is null
      order by i.workflow, i.key, i.id
    ) i
    where k.workflow = i.workflow and k.key = i.key and k.run_id <> all(_ids)
      and holdfast._is_key_free(k.run_id, k.dedupe, _at);
  end if;
end
$$;
