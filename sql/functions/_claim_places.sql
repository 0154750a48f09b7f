-- For claim_lines, whose tickets come one array a column: lines with room for all that come are quickly done
-- (_take_places), and what there is to decide about the others, _fill decides. `_named` are the runs that the tickets
-- name. Answers the runs claimed.
create or replace function holdfast._claim_places(_worker uuid, _workflows text[], _groups text[],
  _leases_ms double precision[], _named uuid[]) returns uuid[]
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_nestloop = on set plan_cache_mode = force_generic_plan as $$
declare
  _at timestamptz;
  _booked holdfast.line_change[];
  _others holdfast.line_change[];
  _picked uuid[] := '{}';
  _locked integer;
  _taken uuid[] := '{}';
begin
  select t._booked, t._others, t._at into _booked, _others, _at
  from holdfast._take_places(_workflows, _groups, _leases_ms) t;
  if cardinality(_others) > 0 then
    perform holdfast._lock_lines(_others);
  end if;
  perform holdfast._wake_runs(_named);
  if cardinality(_booked) > 0 then
    _picked := array(
      select b.id from unnest(_booked) c cross join lateral (
        select r.id from holdfast.waiting_runs r
        where r.workflow = c.workflow and r.group_key = c.group_key and (r.deadline_at is null or r.deadline_at > _at)
        order by r.rank, r.due_at, r.id limit c.wants
      ) b);
    select count(*) into _locked from (
      select from holdfast.runs r where r.id = any(_picked || _named) order by r.depth, r.id for update of r
    ) locked;
    _taken := array(select b.id from holdfast._begin_runs(_worker, _picked, null, _booked, _at) b);
    if cardinality(_taken) < (select sum(b.wants) from unnest(_booked) b) then
      _others := _others || array(
        select row(b.workflow, b.group_key, 0, null, 0, b.wants - count(r.id), 0, 0, 0, 0)::holdfast.line_change
        from unnest(_booked) b
        left join holdfast.runs r on r.id = any(_taken) and r.workflow = b.workflow and r.group_key = b.group_key
        group by b.workflow, b.group_key, b.wants having count(r.id) < b.wants);
    end if;
    _named := case when _locked > cardinality(_picked) then
      array(select n from unnest(_named) n except select t from unnest(_taken) t) else '{}' end;
  end if;
  if cardinality(_others) + cardinality(_named) > 0 then
    _taken := _taken || holdfast._fill(_worker, _others, _named);
  end if;
  return _taken;
end
$$;
