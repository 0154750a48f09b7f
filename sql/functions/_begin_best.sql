-- Lets the best runs begin that wait in these lines, as many as places are booked in each, and none of them rated. `_named`
-- are runs whose tickets are in hand. Answers the runs that began, those of `_named` that did not, and what their lines
-- have to count: set-aside runs that left, and places that nobody took.
create or replace function holdfast._begin_best(_worker uuid, _booked holdfast.line_change[], _named uuid[], _at timestamptz,
  out _taken uuid[], out _left uuid[], out _changes holdfast.line_change[])
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _picked uuid[];
  _were_aside uuid[];
  _locked integer;
begin
  _picked := array(
    select b.id from unnest(_booked) c cross join lateral (
      select r.id from holdfast.waiting_runs r
      where r.workflow = c.workflow and r.group_key = c.group_key and (r.deadline_at is null or r.deadline_at > _at)
      order by r.rank, r.due_at, r.id limit c.wants
    ) b);
  select count(*), array_agg(l.id) filter (where l.is_set_aside) into _locked, _were_aside from (
    select r.id, r.is_set_aside from holdfast.runs r where r.id = any(_picked || _named)
    order by r.depth, r.id for update of r
  ) l;
  select coalesce(array_agg(b.id), '{}'),
    coalesce(array_agg(row(b.workflow, b.group_key, 0, null, 0, 0, 0, 0, -1, -b.is_rate_free::integer)::holdfast.line_change)
      filter (where b.was_set_aside), '{}')
  into _taken, _changes from holdfast._begin_runs(_worker, _picked, _were_aside, _booked, _at) b;

  if cardinality(_taken) < (select sum(b.wants) from unnest(_booked) b) then
    _changes := _changes || array(
      select row(b.workflow, b.group_key, 0, null, 0, b.wants - coalesce(t.count, 0), 0, 0, 0, 0)::holdfast.line_change
      from unnest(_booked) b
      left join (
        select r.workflow, r.group_key, count(*) from holdfast.runs r where r.id = any(_taken) group by r.workflow, r.group_key
      ) t on t.workflow = b.workflow and t.group_key = b.group_key
      where coalesce(t.count, 0) < b.wants);
  end if;
  _left := '{}';
  if _locked > cardinality(_picked) then
    _left := array(select n from unnest(_named) n except select t from unnest(_taken) t);
  end if;
end
$$;
