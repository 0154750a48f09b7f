-- Carries out the cancels that transactions asked for of these runs. Answers how many it took up.
create or replace function holdfast.cancel_asked(_runs uuid[]) returns integer
language plpgsql as $$
declare
  _asked record;
  _count integer := 0;
begin
  perform holdfast._require_read_committed();
  perform holdfast._lines_of(_runs);
  -- A run that somebody has locked is left for the next time, so that it does not hold up the others.
  for _asked in
    with free as materialized (
      select r.id from holdfast.runs r
      where r.id = any(_runs)
      order by r.depth, r.id
      for update of r skip locked
    ), taken as (
      delete from holdfast.cancels c
      where c.run_id in (select f.id from free f)
        or c.run_id = any(_runs) and not exists (select from holdfast.runs r where r.id = c.run_id)
      returning c.run_id, c.reason
    )
    select array_agg(t.run_id) as ids, count(*) as count, t.reason from taken t group by t.reason
  loop
    perform holdfast.cancel_runs(_asked.ids, _asked.reason);
    -- A run that was continued goes on as another, whose turn comes next.
    insert into holdfast.cancels (run_id, asked_at, reason)
    select holdfast._last_of_chain(r.id), holdfast._now(), _asked.reason
    from holdfast.runs r where r.id = any(_asked.ids) and r.continued_as is not null
    order by r.id;
    if found then
      perform holdfast._notify('due');
    end if;
    _count := _count + _asked.count;
  end loop;
  return _count;
end
$$;
