-- Tells those clients which wait for changes of these runs, each on its own channel, at most 100 ids at once.
create or replace function holdfast._tell_watchers(_ids uuid[]) returns void
language plpgsql as $$
begin
  if exists (select from holdfast.watches) then
    perform pg_notify(:channel || ':' || watcher, string_agg(run_id::text, ' '))
    from (
      select w.watcher, w.run_id, (row_number() over (partition by w.watcher) - 1) / 100 as part
      from holdfast.watches w where w.run_id = any(_ids)
    ) told
    group by watcher, part;
  end if;
end
$$;
