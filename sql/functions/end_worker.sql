-- A worker says good-bye: nothing of its is left to take over, and its locks in the queue are unlocked.
create or replace function holdfast.end_worker(_worker uuid) returns void
language plpgsql as $$
declare
  _pools text[];
begin
  update holdfast.workers set ended_at = holdfast._now(), ended_as = 'stopped'
  where id = _worker and ended_at is null
  returning pool_ids into _pools;
  perform holdfast_queue.force_unlock_workers(_pools);
end
$$;
