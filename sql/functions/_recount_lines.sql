-- Counts a workflow's lines anew, after its limits have changed and while nobody decides anything: what is live and set
-- aside in each. Starts that rates have counted stay counted. Tickets are issued by the promotion that follows.
create or replace function holdfast._recount_lines(_workflow text) returns void
language plpgsql set enable_seqscan = off as $$
declare
  _at timestamptz := holdfast._now();
  _is_wide boolean;
  _by_group boolean;
begin
  select m.is_wide, not m.is_wide or m.has_groups into _is_wide, _by_group from holdfast.limits m where m.workflow = _workflow;
  if _by_group then
    update holdfast.runs r set group_key = ''
    where r.workflow = _workflow and r.state = 'waiting' and r.is_set_aside and r.group_key is null;
  end if;
  update holdfast.lines l
  set live = 0, aside = 0, aside_free = 0, owed = 0, ready = 0, is_open = false, open_at = null, head_rank = null,
    head_due_at = null, head_id = null
  where l.workflow = _workflow;

  with counted as (
    select coalesce(r.group_key, '') as group_key, count(*) as live, 0 as aside, 0 as aside_free
    from holdfast.runs r where r.token % 2 = 1 and r.workflow = _workflow group by 1
    union all
    select coalesce(r.group_key, ''), 0, count(*), count(*) filter (where r.is_rate_free)
    from holdfast.runs r where r.workflow = _workflow and r.state = 'waiting' and r.is_set_aside group by 1
  ), lined as (
    select group_key, false as is_wide, sum(live) as live, sum(aside) as aside, sum(aside_free) as aside_free
    from counted where _by_group group by 1
    union all
    select '', true, coalesce(sum(live), 0), coalesce(sum(aside), 0), coalesce(sum(aside_free), 0)
    from counted having _is_wide
  )
  insert into holdfast.lines as l (workflow, group_key, is_wide, live, aside, aside_free, at, open_at)
  select _workflow, group_key, is_wide, live, aside, aside_free, _at, case when aside > 0 then _at end from lined
  on conflict (workflow, group_key, is_wide) do update
  set live = excluded.live, aside = excluded.aside, aside_free = excluded.aside_free, at = greatest(l.at, excluded.at),
    open_at = excluded.open_at;
end
$$;
