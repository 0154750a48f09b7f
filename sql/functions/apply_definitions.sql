-- Makes these definitions the ones that apply, though others were first seen after them: what an operator does who goes
-- back to an older release. Items as for see_definitions. Answers the workflows whose limits are others now.
create or replace function holdfast.apply_definitions(_items json) returns text[]
language plpgsql as $$
declare
  _changed text[];
  _names text[] := array(select i.workflow from json_to_recordset(_items) i (workflow text));
begin
  perform holdfast._require_read_committed();
  insert into holdfast.definitions as d (workflow, fingerprint, policy, first_seen_at, applies_from)
  select i.workflow, i.fingerprint, i.policy, holdfast._now(), holdfast._now()
  from json_to_recordset(_items) i (workflow text, fingerprint text, policy json)
  order by i.workflow, i.fingerprint
  on conflict (workflow, fingerprint) do update set applies_from = excluded.applies_from;
  _changed := holdfast._apply_limits(_names);
  perform holdfast._apply_schedules(_names);
  return _changed;
end
$$;
