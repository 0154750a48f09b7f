-- The best `_take` waiting runs of a line, in order, of which at most `_counted` count for a rate; those that do not are
-- looked for by an index of their own, since any number of others may stand before them. `_group_key` null: of the whole
-- workflow. `_named` are runs whose tickets are in hand; a run that was started before its
-- workflow told groups apart is in none, and found by its ticket alone until it is set aside.
create or replace function holdfast._best_runs(_workflow text, _group_key text, _take integer, _counted integer,
  _named uuid[], _at timestamptz)
returns table (id uuid, rank integer, due_at timestamptz, is_rate_free boolean)
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
  select b.id, b.rank, b.due_at, b.is_rate_free
  from (
    select u.*, count(*) filter (where not u.is_rate_free) over (order by u.rank, u.due_at, u.id) as counted
    from (
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where _group_key is null and r.workflow = _workflow and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit _take)
      union
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where _group_key is null and _counted < _take and r.workflow = _workflow and r.is_rate_free
        and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit _take)
      union
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where r.workflow = _workflow and r.group_key = _group_key and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit _take)
      union
      (select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where _counted < _take and r.workflow = _workflow and r.group_key = _group_key and r.is_rate_free
        and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit _take)
      union
      select r.id, r.rank, r.due_at, r.is_rate_free from holdfast.waiting_runs r
      where _group_key = '' and r.id = any(_named) and r.workflow = _workflow and r.group_key is null
        and (r.deadline_at is null or r.deadline_at > _at)
    ) u
  ) b
  where b.is_rate_free or b.counted <= _counted
  order by b.rank, b.due_at, b.id
  limit _take;
end
$$;
