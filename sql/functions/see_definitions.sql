-- Puts definitions on record when they are first seen. Items: workflow, fingerprint, policy. The newest first-seen
-- one of a workflow applies, so an older process never sets a limit or a schedule back. Answers those whose own limits are
-- not in force, with what is, and whether an operator has set any of it.
create or replace function holdfast.see_definitions(_items json)
returns table (workflow text, in_force text, is_set boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  _new text[];
  _scheduled text[];
begin
  perform holdfast._require_read_committed();
  with seen as (
    insert into holdfast.definitions (workflow, fingerprint, policy, first_seen_at, applies_from)
    select i.workflow, i.fingerprint, i.policy, holdfast._now(), holdfast._now()
    from json_to_recordset(_items) i (workflow text, fingerprint text, policy json)
    order by i.workflow, i.fingerprint
    on conflict do nothing
    returning definitions.workflow, policy
  )
  select array_agg(s.workflow) filter (
      where s.policy -> 'limits' is not null and (s.policy -> 'limits')::jsonb <> '{"isFair": false}'
        or exists (select from holdfast.limits m where m.workflow = s.workflow)),
    array_agg(s.workflow) filter (
      where s.policy -> 'schedule' is not null
        or exists (select from holdfast.schedules d where d.workflow = s.workflow))
  into _new, _scheduled from seen s;
  if _new is not null then
    perform holdfast._apply_limits(_new);
  end if;
  if _scheduled is not null then
    perform holdfast._apply_schedules(_scheduled);
  end if;

  return query
  select i.workflow, holdfast._limits_said(i.workflow)::text,
    exists (select from holdfast.overrides o where o.workflow = i.workflow and o.limits is not null)
  from json_to_recordset(_items) i (workflow text, policy json)
  where jsonb_strip_nulls(holdfast._limits_said(i.workflow)) <> jsonb_strip_nulls((i.policy -> 'limits')::jsonb);
end
$$;
