-- Gives due runs their tickets: scheduled ones, suspended ones whose time has come, and those set aside until a rate lets
-- them begin; and carries out the cancels that were asked for before. Answers how many runs were due, and in how many milliseconds the next is (null: none).
create or replace function holdfast.promote_due(_limit integer)
returns table (promoted integer, next_ms double precision)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _asked uuid[];
  _open holdfast.line_change[];
  _promoted uuid[];
  _tickets holdfast_queue.job_spec[];
begin
  perform holdfast._require_read_committed();
  _asked := array(select c.run_id from holdfast.cancels c order by c.id limit _limit);
  if cardinality(_asked) > 0 or exists (select from holdfast.lines l where l.open_at <= _at) then
    _open := holdfast._lock_due_lines(_asked, _at, _limit);
    perform holdfast.cancel_asked(_asked);
    if cardinality(_open) > 0 then
      perform holdfast._fill(null, _open, '{}');
    end if;
  end if;
  with due as materialized (
    select r.id from holdfast.runs r
    where r.state in ('scheduled', 'suspended') and r.due_at is not null and r.due_at <= _at
    order by r.due_at
    limit _limit
    for update of r skip locked
  ), promoted as (
    update holdfast.runs r set state = 'waiting'
    from due
    where r.id = due.id and r.state in ('scheduled', 'suspended') and r.due_at <= _at
    returning r.id, r.token, r.workflow, r.group_key, r.priority, r.due_at
  ), ranked as (
    -- Runs due at the same instant keep their order by id in the queue too, a microsecond apart.
    select *, row_number() over (partition by priority, due_at order by id) - 1 as tie from promoted
  )
  select array_agg(holdfast._ticket(id, token, workflow, group_key, priority, due_at + tie * interval '1 us')
    order by priority desc, due_at, id), array_agg(id)
  into _tickets, _promoted from ranked;
  perform holdfast._issue_tickets(_tickets);
  perform holdfast._tell_watchers(_promoted);

  return query
  select coalesce(cardinality(_tickets), 0), (
    select greatest(0, extract(epoch from next.due_at - holdfast._now()) * 1000)::double precision
    from (
      (select r.due_at from holdfast.runs r
      where r.state in ('scheduled', 'suspended') and r.due_at is not null order by r.due_at limit 1)
      union all
      (select l.open_at from holdfast.lines l where l.open_at is not null order by l.open_at limit 1)
    ) next
    order by next.due_at limit 1);
end
$$;
