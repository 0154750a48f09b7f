-- What a person wants to know at a glance, as JSON: the server's version, its time, the workers that live, and of each
-- workflow how many runs are waiting, running, scheduled, suspended and failed, and since when the oldest due one waits;
-- and how many signals were dropped, since no run came for them in 24 hours.
create or replace function holdfast.info() returns text
language sql stable as $$
  select json_build_object(
    'server', current_setting('server_version'),
    'at', holdfast._now(),
    'dropped_signals', (select c.dropped from holdfast.signal_cursor c),
    'workers', (
      select coalesce(json_agg(json_build_object('id', w.id, 'name', w.name, 'workflows', w.workflows, 'slots', w.slots,
        'started_at', w.started_at, 'seen_at', w.seen_at,
        'running', (select count(*) from holdfast.runs r where r.worker_id = w.id and r.token % 2 = 1))
        order by w.started_at), '[]')
      from holdfast.workers w where w.ended_at is null),
    'workflows', (
      select coalesce(json_agg(json_build_object('name', l.workflow, 'waiting', l.waiting, 'running', l.running,
        'scheduled', l.scheduled, 'suspended', l.suspended, 'failed', l.failed, 'oldest_waiting_at', l.oldest)
        order by l.workflow), '[]')
      from (
        select d.workflow, sum(d.count) filter (where d.state = 'waiting') as waiting,
          sum(d.count) filter (where d.state = 'running') as running,
          sum(d.count) filter (where d.state = 'scheduled') as scheduled,
          sum(d.count) filter (where d.state = 'suspended') as suspended,
          sum(d.count) filter (where d.state = 'failed') as failed,
          min(d.oldest) as oldest
        from holdfast._depths() d
        group by d.workflow
      ) l)
  )::text
$$;
