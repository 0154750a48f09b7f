-- Claims for tickets of limited workflows, one array a column: whatever became of the run that a ticket names (null: it
-- names a line alone), the room in its line is given to the best that wait there, as many as tickets. Answers as
-- claim_runs does; of a run that no limit rules it answers only that, and claim_runs is to be asked.
create or replace function holdfast.claim_lines(_worker uuid, _ids uuid[], _workflows text[], _groups text[],
  _leases_ms double precision[])
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint,
  max_attempts smallint, deadline_ms double precision, metadata text, input text, input_types text,
  memos text, tries text, lease_until_ms double precision, is_limited boolean)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _changes holdfast.line_change[];
  _named uuid[];
  _others uuid[];
  _taken uuid[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._hold_limits();
  _named := array(
    select t.id from unnest(_ids, _workflows) t (id, workflow) join holdfast.limits m on m.workflow = t.workflow
    where t.id is not null);
  _changes := array(
    select row(t.workflow, coalesce(t.group_key, ''), count(*), max(t.lease_ms), count(*), 0, 0, 0, 0, 0)::holdfast.line_change
    from unnest(_workflows, _groups, _leases_ms) t (workflow, group_key, lease_ms)
    join holdfast.limits m on m.workflow = t.workflow
    group by t.workflow, coalesce(t.group_key, ''));

  if cardinality(_changes) > 0 then
    perform holdfast._lock_lines(_changes);
    perform holdfast._wake_runs(_named);
    _taken := holdfast._fill(_worker, _changes, _named);
    perform holdfast._tell_watchers(_taken);
  end if;
  _at := holdfast._now();
  _others := array(
    select t.id from unnest(_ids, _workflows) t (id, workflow)
    where t.id is not null and t.workflow not in (select m.workflow from holdfast.limits m));
  return query select * from holdfast._claims(_taken, _at, true, _others);
end
$$;
