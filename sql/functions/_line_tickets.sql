-- How many of a line's own tickets are in the queue, counted up to `_most`: without those that are used up, or that somebody
-- has kept for over 10 s.
create or replace function holdfast._line_tickets(_line holdfast.lines, _most integer, _at timestamptz) returns integer
language plpgsql stable set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  _key text := holdfast._line_key((_line).workflow, (_line).group_key, (_line).is_wide);
begin
  return (
    select count(*) from (
      select from holdfast_queue._private_jobs j
      where j.key > _key || '000000000000' and j.key < _key || '999999999999'
        and j.attempts < j.max_attempts and (j.locked_at is null or j.locked_at > _at - interval '10 s')
      limit _most
    ) live);
end
$$;
