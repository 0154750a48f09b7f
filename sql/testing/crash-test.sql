-- For `crashTest`, in a database of `holdfast/testing`: what goes on next in the family of a run.

-- A run, the runs that went on where it and others of these ended, their children, and what undoes any of them. In plpgsql,
-- which keeps its plan for a session.
create function holdfast.test_family(_root uuid) returns uuid[]
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return (
    with recursive family (id) as (
      select _root
      union
      select r.id from family f cross join lateral (
        select c.id from holdfast.runs c where c.parent_id = f.id
        union all
        select p.continued_as from holdfast.runs p where p.id = f.id and p.continued_as is not null
        union all
        select w.child_id from holdfast.waits w where w.run_id = f.id and w.child_id is not null
      ) r
    )
    select array_agg(f.id) from family f
  );
end
$$;

-- Ends the claims of processes that have died, and gives back the attempts that this costs their runs; then answers the run
-- that goes on next: children before who waits for them, since time is not to pass meanwhile. If no run can go on: one that
-- is parked at one of these steps, and which step; or else time moves on, to when the first of the family is due but not past
-- `_until_ms`, and whoever is due goes on. `is_over`: the run has ended, and no other goes on in its place.
create function holdfast.test_next(_root uuid, _answered text[], _until_ms double precision)
returns table (id uuid, workflow text, step text, is_over boolean, at_ms double precision, ahead_ms double precision)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _family uuid[] := holdfast.test_family(_root);
  _at timestamptz;
  _next holdfast.runs;
  _parked holdfast.waits;
  _due_ms double precision;
  _before_ms double precision;
begin
  perform holdfast._require_read_committed();
  update holdfast.runs r set lease_until = holdfast._now(), max_attempts = r.max_attempts + 1
  where r.id = any(_family) and r.state = 'running';
  if found then
    perform holdfast.end_leases(500, holdfast._now());
  end if;
  loop
    _at := holdfast._now();
    if exists (select from holdfast.runs r where r.id = any(_family) and r.ended_at is null and r.deadline_at <= _at) then
      perform holdfast.fail_overdue(500);
      _family := holdfast.test_family(_root);
    end if;
    select * into _next from holdfast.runs r
    where r.id = any(_family) and (r.state = 'waiting' or r.state = 'suspended' and holdfast._is_woken(r, _at))
    order by r.depth desc, r.created_at, r.workflow, r.input::text, r.id limit 1;
    exit when _next.id is not null or _due_ms >= _until_ms;

    select w.* into _parked from holdfast.waits w join holdfast.runs r on r.id = w.run_id
    where w.run_id = any(_family) and w.kind = 'park' and w.key = any(_answered) and r.ended_at is null
    order by w.opened_at, w.run_id, w.ordinal limit 1;
    exit when _parked.run_id is not null;

    select least(_until_ms, (
      select extract(epoch from min(least(r.due_at, r.deadline_at)))::double precision * 1000 from holdfast.runs r
      where r.id = any(_family) and r.state in ('scheduled', 'suspended'))) into _due_ms;
    exit when _due_ms is null or _due_ms is not distinct from _before_ms;
    _before_ms := _due_ms;
    perform holdfast.test_move(_due_ms);
    perform holdfast.promote_due(500);
  end loop;
  return query
  select coalesce(_next.id, _parked.run_id), _next.workflow, _parked.key, l.ended_at is not null,
    extract(epoch from holdfast._now())::double precision * 1000,
    (select extract(epoch from c.ahead)::double precision * 1000 from holdfast.test_clock c)
  from holdfast.runs l where l.id = holdfast._last_of_chain(_root);
end
$$;
