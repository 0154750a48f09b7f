-- Carries out the cancels that transactions asked for, the oldest first. Answers how many it took up.
create or replace function holdfast.cancel_asked(_limit integer) returns integer
language plpgsql as $$
declare
  _asked record;
  _count integer := 0;
begin
  perform holdfast._require_read_committed();
  for _asked in
    with next as materialized (
      select c.run_id, c.id from holdfast.cancels c order by c.id limit _limit for update skip locked
    ), taken as (
      delete from holdfast.cancels c using next n where c.run_id = n.run_id and c.id = n.id
      returning c.run_id, c.reason
    )
    select array_agg(run_id) as ids, count(*) as count, reason from taken group by reason
  loop
    perform holdfast.cancel_runs(_asked.ids, _asked.reason);
    _count := _count + _asked.count;
  end loop;
  return _count;
end
$$;
