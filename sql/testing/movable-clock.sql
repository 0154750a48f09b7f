-- Run by `holdfast/testing` in a database of its own: there, and nowhere else, time can be moved forward.
--
-- `_now()` is what it was plus `test_clock.ahead`, in place, so that whoever names it gets this one. The queue reads a clock of
-- its own, which nobody moves; so tickets enter it with the times it would have, and what it locked is told in ours.

create table holdfast.test_clock (ahead interval not null);
insert into holdfast.test_clock values (interval '0');

do $body$
begin
  execute format('create function holdfast.test_real_now() returns timestamptz language sql volatile as %L',
    (select p.prosrc from pg_catalog.pg_proc p where p.oid = 'holdfast._now()'::regprocedure));
end
$body$;

-- In plpgsql, which keeps its plan for a session.
create or replace function holdfast._now() returns timestamptz
language plpgsql volatile parallel safe as $$
begin
  return (select holdfast.test_real_now() + c.ahead from holdfast.test_clock c);
end
$$;

create function holdfast.test_ticket_time() returns trigger
language plpgsql as $$
declare
  _ahead interval := (select c.ahead from holdfast.test_clock c);
begin
  if tg_op = 'INSERT' then
    new.run_at := new.run_at - _ahead;
  elsif new.locked_at is distinct from old.locked_at then
    new.locked_at := new.locked_at + _ahead;
  end if;
  return new;
end
$$;

create trigger test_ticket_time before insert or update on holdfast_queue._private_jobs
for each row execute function holdfast.test_ticket_time();

-- What has ended stays for as long as the test lasts, however far time is moved.
create or replace function holdfast.prune_runs(_limit integer) returns integer
language sql as $$
  select 0
$$;

-- Moves time on to an instant, in milliseconds since 1970, never back; answers the time it is now and how far ahead that is.
-- Workers that are there stay there: their heartbeats and their leases move along. Counted in seconds, since a day is not as
-- long everywhere, and a trifle further, so that what is due at that instant is.
create function holdfast.test_move(_until_ms double precision)
returns table (at timestamptz, at_ms double precision, ahead_ms double precision)
language plpgsql as $$
#variable_conflict use_column
declare
  _by_ms double precision := _until_ms - extract(epoch from holdfast._now())::double precision * 1000;
  _by interval := make_interval(secs => _by_ms / 1000 + 0.000002);
begin
  perform holdfast._require_read_committed();
  if _by_ms > 0 then
    update holdfast.test_clock c set ahead = c.ahead + _by;
    update holdfast.runs r set lease_until = r.lease_until + _by
    where r.token % 2 = 1 and exists (
      select from holdfast.workers w where w.id = r.worker_id and w.ended_at is null);
    update holdfast.workers w set seen_at = w.seen_at + _by where w.ended_at is null;
    if exists (select from holdfast.schedules) then
      perform holdfast._notify('schedules');
    end if;
  end if;
  return query
  select n.at, extract(epoch from n.at)::double precision * 1000, extract(epoch from c.ahead)::double precision * 1000
  from holdfast.test_clock c, (select holdfast._now() as at) n;
end
$$;

-- What goes on in these workflows: whether anything runs or could; when the next run is due or a rate opens; and when the
-- next thing of any kind comes, a schedule's instant, a deadline or the end of a lease that no worker renews as well. In milliseconds since 1970.
create function holdfast.test_look(_workflows text[])
returns table (is_busy boolean, due_ms double precision, next_ms double precision)
language plpgsql as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
begin
  perform holdfast._require_read_committed();
  -- One statement: a run that settles while this looks must be seen before or after it, not neither way.
  return query
  with next as (
    select
      least(
        (select min(r.due_at) from holdfast.runs r
         where r.state in ('scheduled', 'suspended') and r.workflow = any(_workflows)),
        (select min(l.open_at) from holdfast.lines l where l.workflow = any(_workflows))) as due_at,
      least(
        (select min(coalesce(s.next_at, s.past_at)) from holdfast.schedules s
         where s.paused_at is null and s.workflow = any(_workflows)),
        (select min(r.deadline_at) from holdfast.runs r
         where r.state in ('scheduled', 'waiting', 'suspended') and r.workflow = any(_workflows)),
        (select min(r.lease_until) from holdfast.runs r
         where r.token % 2 = 1 and not exists (
           select from holdfast.workers w where w.id = r.worker_id and w.ended_at is null))) as over_at
  )
  select
    coalesce(next.due_at <= _at, false)
      or exists (
        select from holdfast.schedules s
        where s.paused_at is null and s.workflow = any(_workflows) and coalesce(s.next_at, s.past_at) <= _at and s.failing_count = 0)
      or exists (
        select from holdfast.runs r
        where r.state = 'waiting' and not r.is_set_aside and r.workflow = any(_workflows)
          and (r.deadline_at is null or r.deadline_at > _at))
      or exists (
        select from holdfast.runs r join holdfast.workers w on w.id = r.worker_id
        where r.token % 2 = 1 and w.ended_at is null)
      or exists (select from holdfast.cancels)
      or exists (
        select from holdfast_queue._private_jobs j join holdfast_queue._private_tasks t on t.id = j.task_id
        where t.identifier = any(_workflows) and j.attempts < j.max_attempts),
    extract(epoch from next.due_at)::double precision * 1000,
    extract(epoch from least(next.due_at, next.over_at))::double precision * 1000
  from next;
end
$$;
