-- Claims runs by hand, for workers in any language: up to `max` due runs of these workflows, in the order listed and
-- within each by priority, due time and id, leased to `worker`, any id that the caller makes up. A lease longer than a
-- workflow allows is cut to that; null is the workflow's own. Tell their ends with holdfast.ack and holdfast.nack, or
-- they are due again when the lease is over.
create or replace function holdfast.reserve(worker uuid, workflows text[], max integer default 1,
  lease interval default null)
returns table (id uuid, token integer, workflow text, key text, "group" text, attempt integer, max_attempts integer,
  metadata json, input json, input_types text, lease_until timestamptz)
language sql volatile as $$
  select r.id, r.token, r.workflow, r.key, r.group_key, r.attempt::integer, r.max_attempts::integer, r.metadata::json,
    r.input::json, r.input_types, to_timestamp(r.lease_until_ms / 1000)
  from holdfast.reserve_runs($1, $2, $3, extract(epoch from $4)::double precision * 1000) r
$$;
