-- For settle_runs, under its locks: starts the runs that go on where these ended, under their keys. Whoever waits for the end
-- of one waits for that of the next.
create or replace function holdfast._continue_runs(_ended uuid[], _details json[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _next json;
begin
  select json_agg(d.details -> 'next') into _next
  from unnest(_details) d (details)
  where exists (
    select from holdfast.runs r
    where r.id = (d.details -> 'next' ->> 'continues')::uuid and r.id = any(_ended)
      and r.continued_as = (d.details -> 'next' ->> 'id')::uuid);
  if _next is not null then
    update holdfast.keys k set run_id = r.continued_as
    from json_to_recordset(_next) n (continues uuid) join holdfast.runs r on r.id = n.continues
    where k.workflow = r.workflow and k.key = r.key and k.run_id = r.id;
    perform holdfast.start_runs(_next);
    update holdfast.waits w set child_id = r.continued_as
    from json_to_recordset(_next) n (continues uuid) join holdfast.runs r on r.id = n.continues
    where w.child_id = r.id;
  end if;
end
$$;
