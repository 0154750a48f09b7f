-- The core tables. A run's row is the truth; a ticket in the queue's own schema only says "look at run X".
--
-- Invariants, held by every function in sql/functions:
--   1. `token` rises at every claim and at every end of one, so it is odd exactly while the run is running.
--   2. Whoever writes for a claim first locks the run's row by (id, token), `for key share`. Whoever raises the token
--      has first locked the row `for update`, which holds off the former and is held until the commit; a renewal, which
--      changes no token, locks `for no key update` and passes beside them.
--   3. Lock order: lines, then keys, then runs by (depth, id), then steps and signals, then the queue's rows.
--   4. No index holds a lease's time or a progress value, so renewals never touch an index.

create table holdfast.definitions (
  workflow text not null,
  fingerprint text not null,
  policy json not null,
  first_seen_at timestamptz not null,
  -- The newest one's policy applies: since it was first seen, or since an operator said so.
  applies_from timestamptz not null,
  primary key (workflow, fingerprint)
);

create table holdfast.workers (
  id uuid primary key,
  name text not null,
  workflows text[] not null,
  slots integer not null,
  lease interval not null,
  -- Whose locks in the queue are unlocked when this worker is found dead.
  pool_ids text[] not null,
  -- The server start under which this worker holds its session locks; null while it holds none.
  postmaster_started_at timestamptz,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  suspected_at timestamptz,
  ended_at timestamptz,
  ended_as text constraint workers_ended_as_check check (ended_as in ('stopped', 'dead', 'silent'))
);

create index workers_alive on holdfast.workers (id) where ended_at is null;

create table holdfast.runs (
  id uuid primary key,
  token integer not null default 0,
  workflow text not null,
  state text not null constraint runs_state_check
    check (state in ('scheduled', 'waiting', 'running', 'suspended', 'done', 'failed', 'cancelled')),
  depth smallint not null default 0,
  priority smallint not null,
  attempt smallint not null default 0,
  max_attempts smallint not null,
  -- How often it was brought back after its end. Children that it calls in another series are others.
  retries smallint not null default 0,
  -- The next claim goes on with an attempt that was already counted.
  is_resuming boolean not null default false,
  -- It resumes a suspension or a release, so no rate counts it.
  is_rate_free boolean not null default false,
  -- A cancel of its parent cancels it too.
  is_cancelled_with_parent boolean not null default false,
  -- Due, but its line had no room when its ticket was looked at: it waits without one.
  is_set_aside boolean not null default false constraint runs_set_aside_when_waiting
    check (not is_set_aside or state = 'waiting'),
  -- Since when, and which kind of limit had no room; kept until its claim has ended.
  set_aside_at timestamptz,
  set_aside_for text constraint runs_set_aside_for_check check (set_aside_for in ('concurrency', 'rate', 'pause')),
  created_at timestamptz not null,
  due_at timestamptz,
  deadline_at timestamptz,
  claimed_at timestamptz,
  lease_until timestamptz,
  ended_at timestamptz,
  -- How long it stays after its end, if it failed and otherwise; what is longer than 68 years counts as that.
  keep_seconds integer not null default 604800,
  keep_done_seconds integer not null default 86400,
  worker_id uuid,
  recalled integer,
  key text,
  group_key text,
  failure text constraint runs_failure_check check (failure in
    ('rejected', 'attempts_exhausted', 'lease_expired', 'timeout', 'deadline', 'invalid', 'admin')),
  reason text,
  -- The run whose handler started it.
  parent_id uuid,
  -- The topmost of its parents' parents. Null: it has no parent.
  root_id uuid,
  -- Runs that continue each other are a chain; signals to any of them are the chain's. Null: it is the first.
  chain_id uuid,
  continued_as uuid,
  -- The run whose kept steps it undoes.
  undoes uuid,
  -- The W3C trace context of what started it, and the traceparent of its last claim's span, if those were traced.
  traceparent text,
  tracestate text,
  claim_trace text,
  metadata json,
  input json,
  input_types text,
  output json,
  output_types text,
  error json,
  -- From then on it may be removed at any time. Generated, so that no transition can forget it.
  keep_until timestamptz generated always as (
    (ended_at at time zone 'UTC' + case when state = 'failed' then keep_seconds else keep_done_seconds end * interval '1 s')
      at time zone 'UTC') stored,
  constraint runs_failure_when_failed check ((failure is not null) = (state = 'failed')),
  constraint runs_token_odd_when_running check ((token % 2 = 1) = (state = 'running'))
) with (fillfactor = 70);

create index runs_due on holdfast.runs (due_at) where state in ('scheduled', 'suspended') and due_at is not null;
-- A workflow's line. The numbers of priority are turned round as in the queue, so that one direction serves all columns.
create index runs_waiting on holdfast.runs (workflow, (-1 - priority), due_at, id) where state = 'waiting';
-- The same of each group, and of those that no rate counts; both have entries only where there are groups or rates.
create index runs_waiting_group on holdfast.runs (workflow, group_key, (-1 - priority), due_at, id)
  where state = 'waiting' and group_key is not null;
create index runs_waiting_free on holdfast.runs (workflow, (-1 - priority), due_at, id)
  where state = 'waiting' and is_rate_free;
create index runs_waiting_group_free on holdfast.runs (workflow, group_key, (-1 - priority), due_at, id)
  where state = 'waiting' and is_rate_free and group_key is not null;
-- By the token, not the state: a condition on the state would tempt the planner to scan this index in a claim or settle.
create index runs_running on holdfast.runs (worker_id) where token % 2 = 1;
create index runs_children on holdfast.runs (parent_id) where parent_id is not null;
create index runs_chain on holdfast.runs (chain_id) where chain_id is not null;
create index runs_undoing on holdfast.runs (undoes) where undoes is not null;
create index runs_failed on holdfast.runs (id) where state = 'failed';
create index runs_kept on holdfast.runs (keep_until) where keep_until is not null;
create index runs_deadline on holdfast.runs (deadline_at)
  where deadline_at is not null and state in ('scheduled', 'waiting', 'suspended');

-- A key names one run of a workflow. Whether it is free again follows from that run: ended, and `dedupe` ago.
create table holdfast.keys (
  workflow text not null,
  key text not null,
  run_id uuid not null,
  dedupe interval not null,
  primary key (workflow, key)
);

-- Memos: kept outcomes of a run's steps and waits, write-once. `seq` is the order in which outcomes were made and are handed out again.
create table holdfast.steps (
  run_id uuid not null,
  key text not null,
  kind text not null constraint steps_kind_check check (kind in ('answer', 'failure', 'timeout')),
  seq integer not null,
  ordinal integer not null,
  attempt smallint not null,
  token integer not null,
  tries smallint not null,
  kept_at timestamptz not null,
  duration_ms real,
  value json not null,
  types text,
  args text,
  -- It can be undone, should its run fail or be cancelled.
  has_rollback boolean,
  primary key (run_id, key)
);

create index steps_rollback on holdfast.steps (run_id) where has_rollback;

-- What is known of a step that has no kept answer: how often it was tried, its last error, and when it is due again.
create table holdfast.tries (
  run_id uuid not null,
  key text not null,
  attempt smallint not null,
  tries smallint not null,
  failed_at timestamptz not null,
  retry_at timestamptz,
  error json not null,
  primary key (run_id, key)
);

-- The end of every claim that was not the end of its run. The last claim lives in the run's own row.
create table holdfast.claims (
  run_id uuid not null,
  token integer not null,
  attempt smallint not null,
  worker_id uuid,
  began_at timestamptz not null,
  ended_at timestamptz not null,
  outcome text not null constraint claims_outcome_check
    check (outcome in ('retry', 'snooze', 'suspended', 'released', 'lease_lost', 'failed', 'cancelled')),
  recalled integer,
  reason text,
  error json,
  -- The traceparent of its span, if it was traced.
  trace text,
  primary key (run_id, token)
);

create table holdfast.progress (
  run_id uuid primary key,
  token integer not null,
  at timestamptz not null,
  value json not null,
  types text
) with (fillfactor = 50);

-- Whose changes some client waits to be told. Unlogged: after a crash of the server the clients ask again anyhow.
create unlogged table holdfast.watches (
  run_id uuid not null,
  watcher uuid not null,
  until timestamptz not null,
  primary key (run_id, watcher)
);

-- Cancels that a caller's transaction asked for. A worker carries them out, since no such transaction may lock a run.
create table holdfast.cancels (
  run_id uuid not null,
  id bigint not null generated always as identity,
  asked_at timestamptz not null,
  reason text,
  primary key (run_id, id)
);

-- How far the pass over the waiting runs' tickets has come; its row's lock lets one sweeper walk at a time.
create table holdfast.ticket_cursor (
  is_only boolean primary key default true check (is_only),
  workflow text not null default '',
  rank integer not null default 0,
  due_at timestamptz not null default '-infinity',
  id uuid not null default '00000000-0000-0000-0000-000000000000'
);

insert into holdfast.ticket_cursor default values;

create view holdfast.all_claims as
  select run_id, token, attempt, worker_id, began_at, ended_at, outcome, recalled, reason, error, trace
  from holdfast.claims
  union all
  select r.id, case when r.state = 'running' then r.token else r.token - 1 end, r.attempt, r.worker_id, r.claimed_at,
    r.ended_at, case when r.state = 'running' then null else r.state end, r.recalled, r.reason, r.error,
    r.claim_trace
  from holdfast.runs r
  where r.claimed_at is not null
    and (r.state = 'running' or r.ended_at is not null and not exists (
      select from holdfast.claims c where c.run_id = r.id and c.token = r.token - 1));

-- A run as the client and the command line show it.
create view holdfast.run_views as
  select r.id, r.workflow, r.key, nullif(r.group_key, '') as group_key, r.state, r.attempt, r.max_attempts, r.priority, r.created_at, r.due_at,
    r.claimed_at, r.lease_until, r.ended_at, r.worker_id, r.failure, r.reason, r.parent_id, r.continued_as, r.undoes, r.metadata::text, r.input::text,
    r.input_types, r.output::text, r.output_types, p.value::text as progress, p.types as progress_types,
    coalesce(r.error, (
      select c.error from holdfast.claims c where c.run_id = r.id and c.error is not null order by c.token desc limit 1
    ))::text as error, (
      select json_build_object('run', u.id, 'state', u.state,
        'undone', coalesce((
          select json_agg(s.key order by s.seq) from holdfast.steps s where s.run_id = u.id and s.kind = 'answer'), '[]'),
        'failed', coalesce((
          select json_agg(s.key order by s.seq) from holdfast.steps s where s.run_id = u.id and s.kind = 'failure'), '[]'))
      from holdfast.runs u where u.undoes = r.id order by u.created_at desc limit 1) as rollback
  from holdfast.runs r left join holdfast.progress p on p.run_id = r.id;
