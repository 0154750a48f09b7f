-- Claims for tickets of limited workflows, one array a column: whatever became of the run that a ticket names (null: it
-- names a line alone), the room in its line is given to the best that wait there, as many as tickets. Answers as
-- claim_runs does; of a run that no limit rules it answers only that, and claim_runs is to be asked.
create or replace function holdfast.claim_lines(_worker uuid, _ids uuid[], _workflows text[], _groups text[],
  _leases_ms double precision[])
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint,
  max_attempts smallint, deadline_ms double precision, metadata text, input text, input_types text,
  memos text, tries text, lease_until_ms double precision, is_limited boolean, rare text, waited_ms double precision, age_ms double precision,
  past text)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _named uuid[];
  _others uuid[];
  _taken uuid[];
begin
  perform holdfast._require_read_committed();
  perform holdfast._hold_limits();
  _named := array(
    select t.id from unnest(_ids, _workflows) t (id, workflow) join holdfast.limits m on m.workflow = t.workflow
    where t.id is not null);
  _taken := holdfast._claim_places(_worker, _workflows, _groups, _leases_ms, _named);
  perform holdfast._tell_watchers(_taken);
  _others := array(
    select t.id from unnest(_ids, _workflows) t (id, workflow)
    where t.id is not null and t.workflow not in (select m.workflow from holdfast.limits m));
  _at := holdfast._now();
  perform holdfast._end_waits(_taken, _at);
  return query select * from holdfast._claims(_taken, _at, true, _others);
end
$$;
