-- For holdfast.start: an item for start_runs, with what the workflow's newest definition on record says of its runs.
create or replace function holdfast._start_item(_workflow text, _input json, _key text, _group text,
  _due_at timestamptz, _priority integer, _id uuid, _metadata json, _max_attempts integer, _delay interval,
  _traceparent text default null)
returns json
language plpgsql stable as $$
declare
  _policy json;
begin
  perform holdfast._check_start(_key, _group, _due_at, _priority, _metadata, _max_attempts, _delay);
  select d.policy into _policy from holdfast.definitions d where d.workflow = _workflow
  order by d.applies_from desc limit 1;
  perform holdfast._require_known(_workflow);
  return json_build_object(
    'id', coalesce(_id, gen_random_uuid()),
    'workflow', _workflow,
    'key', _key,
    -- Where groups are told apart, the runs in none are a line too.
    'group_key', coalesce(_group, case when (_policy ->> 'hasGroup')::boolean then '' end),
    'priority', coalesce(_priority, (_policy ->> 'priority')::integer),
    'max_attempts', least(coalesce(_max_attempts, (_policy ->> 'maxAttempts')::integer), 100),
    'at', _due_at,
    'delay_ms', extract(epoch from _delay) * 1000,
    'deadline_ms', (_policy ->> 'deadlineMs')::double precision,
    'dedupe_ms', (_policy ->> 'dedupeMs')::double precision,
    'keep_ms', (_policy ->> 'keepMs')::double precision,
    'keep_done_ms', (_policy ->> 'keepDoneMs')::double precision,
    'max_waiting', (_policy ->> 'maxWaiting')::integer,
    'metadata', _metadata,
    'input', _input::text,
    'traceparent', (regexp_match(_traceparent, '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)'))[1]
  );
end
$$;
