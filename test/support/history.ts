import type pg from 'pg'
import { named } from './variant.ts'

/**
 * All that ever happened to runs and memos, for checks after the fact: triggers of the tests' own write one line a
 * change, in the transaction that makes it. With `track_commit_timestamp` on it also tells in which order those
 * committed.
 */

export interface HistoryEvent {
  readonly n: number
  readonly subject: 'run' | 'step' | 'worker' | 'ticket' | 'limits'
  readonly op: 'insert' | 'update' | 'delete'
  /** Of the transaction. */
  readonly xid: number
  /** By the database's clock, in milliseconds. */
  readonly at: number
  readonly committedAt: number | null
  readonly run: string | null
  readonly worker: string | null
  readonly attempt: number | null
  /** Of a run; for a worker, how it ended; for a ticket, who has locked it. */
  readonly oldState: string | null
  readonly state: string | null
  readonly oldToken: number | null
  /** The run's; for a memo, that of the claim that made it. */
  readonly token: number | null
  readonly oldLeaseUntil: number | null
  /** What a run says of when its claim began. */
  readonly claimedAt: number | null
  /** Of a memo, as is the value, or of a ticket; for a worker, its ids in the queue; for limits, their workflow. */
  readonly key: string | null
  /** For limits, those in force as JSON, with milliseconds for `rate_ms` and `group_rate_ms`; null: none any more. */
  readonly value: string | null
  /** The run's token when the memo was written. */
  readonly runToken: number | null
}

const installation = `
create schema history;

create table history.events (
  n bigint generated always as identity primary key,
  subject text not null,
  op text not null,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default holdfast._now(),
  run_id uuid,
  worker_id uuid,
  attempt integer,
  old_state text,
  state text,
  old_token integer,
  token integer,
  old_lease_until timestamptz,
  claimed_at timestamptz,
  key text,
  value text,
  run_token integer
);

create function history.on_run() returns trigger language plpgsql as $$
begin
  insert into history.events (subject, op, run_id, worker_id, attempt, old_state, state, old_token, token,
    old_lease_until, claimed_at)
  values ('run', lower(tg_op), coalesce(new.id, old.id), coalesce(new.worker_id, old.worker_id), new.attempt, old.state,
    new.state, old.token, new.token, old.lease_until, new.claimed_at);
  return null;
end $$;

create function history.on_step() returns trigger language plpgsql as $$
begin
  insert into history.events (subject, op, run_id, attempt, old_token, token, key, value, run_token)
  values ('step', lower(tg_op), coalesce(new.run_id, old.run_id), new.attempt, old.token, new.token,
    coalesce(new.key, old.key), new.value::text,
    (select r.token from holdfast.runs r where r.id = coalesce(new.run_id, old.run_id)));
  return null;
end $$;

create function history.on_worker() returns trigger language plpgsql as $$
begin
  insert into history.events (subject, op, worker_id, old_state, state, key)
  values ('worker', lower(tg_op), new.id, old.ended_as, new.ended_as, new.pool_ids::text);
  return null;
end $$;

create function history.on_ticket() returns trigger language plpgsql as $$
begin
  insert into history.events (subject, op, run_id, old_state, state, key)
  values ('ticket', lower(tg_op), (coalesce(new.payload, old.payload) ->> 'run')::uuid, old.locked_by, new.locked_by,
    coalesce(new.key, old.key));
  return null;
end $$;

create function history.on_limits() returns trigger language plpgsql as $$
begin
  insert into history.events (subject, op, key, value)
  values ('limits', lower(tg_op), coalesce(new.workflow, old.workflow), (to_jsonb(new) || jsonb_build_object(
    'rate_ms', extract(epoch from new.rate_per) * 1000, 'group_rate_ms', extract(epoch from new.group_rate_per) * 1000)
  )::text);
  return null;
end $$;

create trigger history after insert or update or delete on holdfast_queue._private_jobs
  for each row execute function history.on_ticket();
create trigger history after insert or update or delete on holdfast.runs
  for each row execute function history.on_run();
create trigger history after insert or update or delete on holdfast.steps
  for each row execute function history.on_step();
create trigger history after insert or update or delete on holdfast.limits
  for each row execute function history.on_limits();
create trigger history after update on holdfast.workers
  for each row when (old.ended_as is distinct from new.ended_as) execute function history.on_worker();
`

export async function installHistory(client: pg.ClientBase | pg.Pool): Promise<void> {
  await client.query(named(installation))
}

/** In the order in which it happened. */
export async function readHistory(client: pg.ClientBase | pg.Pool): Promise<HistoryEvent[]> {
  const { rows: settings } = await client.query<{ on: boolean }>(
    `select current_setting('track_commit_timestamp')::boolean as on`,
  )
  const committed = settings[0]?.on ? 'pg_xact_commit_timestamp(xid::xid)' : 'null::timestamptz'
  const ms = (time: string): string => `(extract(epoch from ${time}) * 1000)::double precision`
  const { rows } = await client.query<HistoryEvent>(`
    select n::integer, subject, op, xid::text::double precision as xid, ${ms('at')} as at,
      ${ms(committed)} as "committedAt", run_id as run, worker_id as worker, attempt, old_state as "oldState", state,
      old_token as "oldToken", token, ${ms('old_lease_until')} as "oldLeaseUntil",
      ${ms('claimed_at')} as "claimedAt", key, value, run_token as "runToken"
    from history.events order by n`)
  return rows
}
