-- What a client that waits for runs compares: each run's revision, and whether nobody need wait for it any more, since it
-- has ended, which answers the run as `get` shows it, or is not there. A `_watcher` is told of their further changes for a
-- minute; asking again lengthens that.
create or replace function holdfast.look_at_runs(_watcher uuid, _ids uuid[])
returns table (id uuid, revision text, is_over boolean, run text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
begin
  if _watcher is not null then
    insert into holdfast.watches as w (run_id, watcher, until)
    select i.id, _watcher, _at + interval '1 minute' from unnest(_ids) i (id) order by i.id
    on conflict (run_id, watcher) do update set until = excluded.until where w.until < _at + interval '30 s';
  end if;
  -- In a later statement: whatever changes after this look finds the watch.
  return query
  select i.id, r.revision, r.is_over is not false,
    case when r.is_over then (select to_json(v)::text from holdfast.run_views v where v.id = i.id) end
  from unnest(_ids) i (id)
  left join lateral (
    select holdfast._revision(r) as revision, r.ended_at is not null as is_over
    from holdfast.runs r where r.id = i.id limit 1
  ) r on true;
end
$$;
