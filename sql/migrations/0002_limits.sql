-- Limits: which are in force, and the lines of runs that wait under them.
--
-- Invariants, held by _fill and its callers:
--   1. A line's row is the lock under which its limit is decided. Of a workflow with a limit of its own, the workflow's line
--      is the lock for all its groups.
--   2. Whoever changes how many runs of a limited workflow are running or set aside has first locked its line, and says so to
--      the line in the same transaction: `live` and `aside` are what there is.
--   3. At every commit at least `owed` tickets of a line are in the queue, and `owed` is how many of its set-aside runs have room.

-- What an operator has said about a workflow, over what its code says.
create table holdfast.overrides (
  workflow text primary key,
  -- Of concurrency, concurrencyPerGroup, rate, ratePerGroup and isFair those that are set; null in it: no cap.
  limits json,
  limits_by text,
  limits_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text
);

-- What is in force, for each workflow that has any limit or is paused: its newest definition's limits under its
-- overrides. Null: no cap. It changes only under the limits' exclusive advisory lock, which every decision shares.
create table holdfast.limits (
  workflow text primary key,
  concurrency integer,
  group_concurrency integer,
  rate integer,
  rate_per interval,
  group_rate integer,
  group_rate_per interval,
  is_fair boolean not null,
  is_paused boolean not null,
  -- The workflow's own line is the lock, and those of its groups are data under it; else each group's line is one.
  is_wide boolean not null,
  -- Under the workflow's own line, groups are told apart.
  has_groups boolean not null,
  since timestamptz not null
);

-- Every limit that was in force, for the audit. No row for a workflow before its first limit.
create table holdfast.limit_changes (
  workflow text not null,
  changed_at timestamptz not null,
  limits json not null,
  primary key (workflow, changed_at)
);

-- When the newest of a workflow's runs that were removed had ended: its record before that has gaps.
create table holdfast.forgotten (
  workflow text primary key,
  until timestamptz not null
);

-- Starts that a rate counts: instants, rising, and how many began at each (_ring_add).
create type holdfast.ring as (starts_at timestamptz[], counts integer[]);

-- What a decision about a line is made of (_fill). A group of '' are the runs without a group.
create type holdfast.line_change as (
  workflow text,
  group_key text,
  wants integer,
  lease_ms double precision,
  tickets integer,
  freed integer,
  claimed integer,
  counted integer,
  aside integer,
  aside_free integer
);

-- A line: the due runs that wait under a limit. Its row is the lock under which its limit is decided.
create table holdfast.lines (
  workflow text not null,
  -- '' for the workflow's own line, and for the runs of its that are in no group.
  group_key text not null,
  is_wide boolean not null,
  live integer not null default 0,
  -- How many of those the last claim took at once, for tickets that found room (_take_places).
  booked integer not null default 0,
  -- Set-aside runs, and those of them that no rate counts.
  aside integer not null default 0,
  aside_free integer not null default 0,
  -- So many tickets of this line are in the queue at least.
  owed integer not null default 0,
  -- Tickets ever issued: the next one's number.
  issued bigint not null default 0,
  -- When it was last decided about; no later decision is earlier, whatever the clock does.
  at timestamptz not null,
  ring holdfast.ring,
  -- When a rate lets the next one begin while set-aside runs wait for that.
  open_at timestamptz,
  -- Where groups are told apart under the workflow's line: how many set-aside runs of a group have room in it (of the
  -- workflow's line: the sum), whether it has room at all, its best waiting run, and in which round it last had a turn.
  ready integer not null default 0,
  is_open boolean not null default false,
  head_rank integer,
  head_due_at timestamptz,
  head_id uuid,
  served bigint not null default 0,
  -- Of the workflow's line: how far the look for groups that nobody has seen yet has come.
  seen_group text not null default '',
  has_aside boolean generated always as (aside > 0) stored,
  primary key (workflow, group_key, is_wide)
) with (fillfactor = 50);

create index lines_open on holdfast.lines (open_at) where open_at is not null;
create index lines_aside on holdfast.lines (workflow, group_key, is_wide) where has_aside;
create index lines_head on holdfast.lines (workflow, head_rank, head_due_at, head_id) where head_id is not null and is_open;
create index lines_served on holdfast.lines (workflow, served, head_rank, head_due_at, head_id)
  where head_id is not null and is_open;

-- The same of the pass over the lines.
create table holdfast.line_cursor (
  is_only boolean primary key default true check (is_only),
  workflow text not null default '',
  group_key text not null default '',
  is_wide boolean not null default false
);

insert into holdfast.line_cursor default values;

-- Waiting runs that nobody has asked to cancel, as a line's order compares them.
create view holdfast.waiting_runs as
  select r.id, r.workflow, r.group_key, -1 - r.priority as rank, r.due_at, r.deadline_at, r.is_rate_free
  from holdfast.runs r
  where r.state = 'waiting' and not exists (select from holdfast.cancels c where c.run_id = r.id);
