-- Where the schedules of these workflows stand, and in how many milliseconds each is to be looked at again (null: paused).
-- Of those to be looked at now also the schedule itself, the instant up to which it is decided, the one queued, and now,
-- in milliseconds since 1970.
create or replace function holdfast.due_schedules(_workflows text[])
returns table (workflow text, turn bigint, spec text, past_ms double precision, queued_ms double precision,
  now_ms double precision, wait_ms double precision)
language plpgsql stable as $$
#variable_conflict use_column
declare
  _at timestamptz := date_trunc('milliseconds', holdfast._now());
begin
  return query
  select s.workflow, s.turn, case when d.due_at <= _at then s.spec::text end,
    (extract(epoch from s.past_at) * 1000)::double precision, (extract(epoch from s.queued_at) * 1000)::double precision,
    (extract(epoch from _at) * 1000)::double precision,
    greatest(0, extract(epoch from d.due_at - _at) * 1000)::double precision
  from holdfast.schedules s
  cross join lateral (
    select case when s.paused_at is null then greatest(s.retry_at, case
      when s.queued_at is not null and not holdfast._is_alive(s.last_run) then s.queued_at
      else coalesce(s.next_at, s.past_at)
    end) end as due_at
  ) d
  where s.workflow = any(_workflows)
  order by s.workflow;
end
$$;
