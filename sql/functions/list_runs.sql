-- Runs by descending id, which is newest first for ids made by a client: those below `_before` that fit all that is
-- given, at most `_limit`. It looks at no more than `_looks` runs; `next` is where to go on, null at the end, and beside
-- no run when none fits.
-- `_filter`: workflows, states (arrays), key_prefix, group_key, created_after, created_before, metadata (an object whose
-- entries the run has too).
create or replace function holdfast.list_runs(_filter json, _before uuid, _limit integer, _looks integer)
returns table (run text, next uuid)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  _workflows text[] := array(select json_array_elements_text(_filter -> 'workflows'));
  _states text[] := array(select json_array_elements_text(_filter -> 'states'));
  _prefix text := _filter ->> 'key_prefix';
  _group text := _filter ->> 'group_key';
  _after timestamptz := _filter ->> 'created_after';
  _until timestamptz := _filter ->> 'created_before';
  _metadata jsonb := _filter -> 'metadata';
begin
  return query
  with looked as materialized (
    select r.id, r.state, r.workflow, r.key, r.group_key, r.created_at, r.metadata from holdfast.runs r
    where r.id < _before and (_states <> '{failed}' or r.state = 'failed')
    order by r.id desc
    limit _looks
  ), fitting as (
    select l.id from looked l
    where (cardinality(_workflows) = 0 or l.workflow = any(_workflows))
      and (cardinality(_states) = 0 or l.state = any(_states))
      and (_prefix is null or starts_with(l.key, _prefix))
      and (_group is null or l.group_key = _group)
      and (_after is null or l.created_at >= _after)
      and (_until is null or l.created_at < _until)
      and (_metadata is null or l.metadata::jsonb @> _metadata)
    order by l.id desc
    limit _limit
  ), rest as (
    select case
      when (select count(*) from fitting) = _limit then (select f.id from fitting f order by f.id limit 1)
      when (select count(*) from looked) = _looks then (select l.id from looked l order by l.id limit 1)
    end as next
  )
  select to_json(v)::text, rest.next
  from rest left join (fitting f join holdfast.run_views v on v.id = f.id) on true
  order by f.id desc;
end
$$;
