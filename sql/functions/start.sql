-- Starts one run by its workflow's name, for triggers, other languages and the command line. The policy is that of the
-- workflow's newest definition on record; an unknown name is refused. `input` is checked against the schema at the
-- claim, since only a worker knows it. What client.start refuses is refused here too: WF003 past maxWaiting, WF006 for
-- a key that names a run of another input, WF007 for an id of another workflow's, WF008 for an argument out of range.
-- `traceparent` is the W3C trace context of what starts it; one that is none is taken for no context, as W3C has it.
create or replace function holdfast.start(workflow text, input json, key text default null, "group" text default null,
  due_at timestamptz default null, priority integer default null, id uuid default null, metadata json default null,
  max_attempts integer default null, delay interval default null, allow_different_input boolean default false,
  traceparent text default null)
returns table (id uuid, created boolean, state text)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select r.id, r.is_created, r.state
  from holdfast.start_runs(json_build_array(holdfast._start_item($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    $12))) r
  where holdfast._check_started($1, $3, $7, r.is_full, r.is_same_workflow, r.is_same_input or $11)
$$;
