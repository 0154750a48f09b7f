-- Adds tickets in the order given and answers how many the queue took: a keyed add can silently add nothing, which
-- reissue_tickets makes good.
create or replace function holdfast._issue_tickets(_tickets holdfast_queue.job_spec[]) returns integer
language plpgsql as $$
declare
  _count integer := 0;
begin
  if cardinality(_tickets) > 0 then
    select count(*) into _count from holdfast_queue.add_jobs(_tickets, false);
  end if;
  return _count;
end
$$;
