-- Puts definitions on record when they are first seen. Items: workflow, fingerprint, policy. The newest first-seen
-- one of a workflow applies, so an older process never sets a limit back.
create or replace function holdfast.see_definitions(_items json) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into holdfast.definitions (workflow, fingerprint, policy, first_seen_at)
  select i.workflow, i.fingerprint, i.policy, holdfast._now()
  from json_to_recordset(_items) i (workflow text, fingerprint text, policy json)
  order by i.workflow, i.fingerprint
  on conflict do nothing
$$;
