-- Schedules: workflows whose runs start by themselves.
--
-- Invariants, held by fire_schedules and by whatever else changes a row:
--   1. A schedule's row is the lock under which its instants are decided. It is locked after lines and before keys.
--   2. `turn` rises at every change, and whoever decides names the turn it looked at: so each instant is decided once.
--   3. Instants up to `past_at` are decided: a run was started, or none will be. The one in `queued_at` is decided last.

create table holdfast.schedules (
  workflow text primary key,
  -- As the definition that applies has it: cron and zone, or everyMs; catchUp, overlap, inputJson and inputTypes.
  spec json not null,
  turn bigint not null default 0,
  past_at timestamptz not null,
  -- The first instant after that; null until somebody who can tell has looked.
  next_at timestamptz,
  -- Its run starts once the last one has ended.
  queued_at timestamptz,
  -- The last instant for which a run was started, and that run.
  last_at timestamptz,
  last_run uuid,
  started_count bigint not null default 0,
  skipped_count bigint not null default 0,
  -- Starts that failed: how often, how often in a row since one did not, and when it is tried again.
  failed_count bigint not null default 0,
  failing_count integer not null default 0,
  failed_at timestamptz,
  last_error text,
  retry_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text
);
