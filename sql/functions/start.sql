-- Starts one run by its workflow's name, for triggers, other languages and the command line. The policy is that of the
-- workflow's newest definition on record; an unknown name is refused. `input` is checked against the schema at the
-- claim, since only a worker knows it.
create or replace function holdfast.start(workflow text, input json, key text default null, "group" text default null,
  due_at timestamptz default null, priority integer default null, id uuid default null, metadata json default null,
  max_attempts integer default null, delay interval default null)
returns table (id uuid, created boolean, state text)
language plpgsql as $$
#variable_conflict use_column
declare
  _policy json;
  _id uuid := coalesce(start.id, gen_random_uuid());
begin
  select d.policy into _policy from holdfast.definitions d where d.workflow = start.workflow
  order by d.first_seen_at desc limit 1;
  if _policy is null then
    raise exception 'No workflow "%" is on record.', start.workflow
      using errcode = 'WF002', hint = 'Start a worker that has it, or start it once from TypeScript.';
  end if;
  return query
  select r.id, r.is_created, r.state
  from holdfast.start_runs(json_build_array(json_build_object(
    'id', _id,
    'workflow', start.workflow,
    'key', start.key,
    'group_key', start."group",
    'priority', coalesce(start.priority, (_policy ->> 'priority')::integer),
    'max_attempts', least(coalesce(start.max_attempts, (_policy ->> 'maxAttempts')::integer), 100),
    'at', start.due_at,
    'delay_ms', extract(epoch from start.delay) * 1000,
    'deadline_ms', (_policy ->> 'deadlineMs')::double precision,
    'dedupe_ms', (_policy ->> 'dedupeMs')::double precision,
    'metadata', start.metadata,
    'input', start.input::text
  ))) r;
end
$$;
