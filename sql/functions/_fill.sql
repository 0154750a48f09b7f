-- Every decision about lines, for claims, settles, cancels and sweeps alike: gives room that claims left, lets as many of
-- the best waiting runs begin as there is room for and the changes want, under leases of `_worker`, sets aside those of
-- `_named`, whose tickets are used up, that wait on, and sees that tickets are in the queue for what room is left. Answers
-- the runs claimed.
--
-- A change is about one group of a limited workflow: what it wants and uses up, how many claims ended there, how many
-- set-aside runs left. The caller holds the limits (_hold_limits) and the lines (_lock_lines), in statements before.
create or replace function holdfast._fill(_worker uuid, _changes holdfast.line_change[], _named uuid[]) returns uuid[]
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_hashjoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz;
  _is_fair boolean;
  _has_groups boolean;
  _has_room boolean;
  -- Said as a text of its own, it would be the condition of an index of all that waits, which were read from end to end.
  _waiting text[] := '{waiting}';
  _picked uuid[] := '{}';
  _were_aside uuid[];
  _claimed holdfast.line_change[];
  _aside holdfast.line_change[];
begin
  -- Room is looked for roughly, so that a look at a full line is cheap; _pick_runs knows how much there is.
  select greatest(holdfast._now(), max(l.at)), bool_or(m.has_groups), bool_or(m.is_fair and c.wants > 0),
    bool_or(c.wants > 0) and (bool_or(c.freed > 0) or bool_or(l.is_wide = m.is_wide and l.live < coalesce(
      case when m.is_wide then m.concurrency when c.group_key <> '' then m.group_concurrency end, l.live + 1)))
  into _at, _has_groups, _is_fair, _has_room
  from unnest(_changes) c
  join holdfast.limits m on m.workflow = c.workflow
  join holdfast.lines l
    on l.workflow = any(array[c.workflow]) and l.group_key in (c.group_key, '') and (l.group_key = c.group_key or l.is_wide);
  if _has_room then
    if _is_fair then
      _changes := _changes || holdfast._unseen_groups(_changes);
    end if;
    _picked := holdfast._pick_runs(_changes, _named, _at);
  end if;

  if cardinality(_picked) + cardinality(_named) > 0 then
    select array_agg(locked.id) filter (where locked.is_set_aside) into _were_aside from (
      select r.id, r.is_set_aside from holdfast.runs r where r.id = any(_picked || _named) order by r.depth, r.id for update of r
    ) locked;
  end if;
  if cardinality(_picked) > 0 then
    with begun as materialized (
      select * from holdfast._begin_runs(_worker, _picked, _were_aside, _changes, _at)
    )
    select (select coalesce(array_agg(b.id), '{}') from begun b),
      array_agg(row(c.workflow, c.group_key, 0, null, 0, 0, c.count, c.counted, -c.aside, -c.aside_free)::holdfast.line_change)
    into _picked, _claimed from (
      select workflow, group_key, count(*), count(*) filter (where not is_rate_free) as counted,
        count(*) filter (where was_set_aside) as aside, count(*) filter (where was_set_aside and is_rate_free) as aside_free
      from begun group by workflow, group_key
    ) c;
  end if;
  if not _named <@ _picked then
    with aside as (
      update holdfast.runs r
      set is_set_aside = true, set_aside_at = _at,
        set_aside_for = holdfast._waits_for(m, coalesce(r.group_key, ''), _changes || _claimed), group_key = case when m.is_wide and not m.has_groups then r.group_key else coalesce(r.group_key, '') end
      from holdfast.limits m
      where r.id = any(_named) and m.workflow = r.workflow and r.state = any(_waiting) and not r.is_set_aside
      returning r.workflow, coalesce(r.group_key, '') as group_key, r.is_rate_free
    )
    select array_agg(row(a.workflow, a.group_key, 0, null, 0, 0, 0, 0, a.count, a.free)::holdfast.line_change)
    into _aside from (
      select workflow, group_key, count(*), count(*) filter (where is_rate_free) as free from aside group by workflow, group_key
    ) a;
  end if;
  _changes := _changes || _claimed || _aside;
  if _has_groups then
    perform holdfast._count_groups(_changes, _at);
  end if;
  perform holdfast._count_lines(_changes, _at);
  return _picked;
end
$$;
