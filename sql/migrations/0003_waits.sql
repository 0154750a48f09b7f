-- Waits: what suspended runs wait for, and the signals that end a wait.
--
-- A wait is for a time, for a signal, or for whichever comes first. A child's end and a person's answer are signals too,
-- with names that no user's signal can have: so one thing wakes a run. Invariants, held by open_waits and its like:
--   1. A wait is opened, ended and forgotten under its run's lock. Signals come without it: whoever opens a wait, suspends
--      a run or claims it reads them in a later statement than the one that locked.
--   2. A signal is taken once, by the wait whose memo was made of it in the same transaction.
--   3. A wait of a name takes the signal that came first of those nobody has taken; of two waits the one called first does.

create table holdfast.waits (
  run_id uuid not null,
  key text not null,
  kind text not null constraint waits_kind_check check (kind in ('sleep', 'signal', 'call', 'park')),
  -- Of the signals that end it; null: time alone does.
  name text,
  due_at timestamptz,
  ordinal integer not null,
  opened_at timestamptz not null,
  -- Whose end it waits for.
  child_id uuid,
  -- What a person is asked.
  reason text,
  primary key (run_id, key)
);

create index waits_child on holdfast.waits (child_id) where child_id is not null;
create index waits_parked on holdfast.waits (opened_at, run_id) where kind = 'park';

create table holdfast.signals (
  arrival bigint not null generated always as identity,
  -- The run, or the first of its chain; null: the run that will have this key.
  run_id uuid,
  workflow text,
  key text,
  -- Sent again under the same id it is the same signal.
  id text not null,
  name text not null,
  kind text not null default 'answer' constraint signals_kind_check check (kind in ('answer', 'failure')),
  sent_at timestamptz not null,
  sent_by text,
  -- No such run was seen when it came.
  is_early boolean not null default false,
  -- The key of the wait that took it.
  taken_by text,
  payload json not null,
  types text,
  constraint signals_early_by_key check (run_id is not null or is_early and workflow is not null and key is not null)
);

create unique index signals_once on holdfast.signals (run_id, id) where run_id is not null;
create unique index signals_once_by_key on holdfast.signals (workflow, key, id) where run_id is null;
create index signals_open on holdfast.signals (run_id, name, arrival) where taken_by is null;
-- Of a run's signals the first is looked up by signals_open. An index that has all in the order of their arrival would tempt
-- the planner to read it from the beginning: so this one is for those who say that arrival is positive.
create index signals_pending on holdfast.signals (arrival) where taken_by is null and arrival > 0;

-- How far the pass over pending signals has come, and how many were dropped since no run came for them.
create table holdfast.signal_cursor (
  is_only boolean primary key default true check (is_only),
  arrival bigint not null default 0,
  dropped bigint not null default 0
);

insert into holdfast.signal_cursor default values;

-- How a wait ended (_wait_ends). `seq`: the place of its memo; null: after all there are.
create type holdfast.wait_end as (
  run_id uuid,
  key text,
  ordinal integer,
  kind text,
  value json,
  types text,
  at timestamptz,
  arrival bigint,
  seq integer
);
