-- Cancels runs that have not ended, whatever they are doing; a running one's worker is told. Answers the runs that
-- exist, and whether they were cancelled here.
create or replace function holdfast.cancel_runs(_ids uuid[], _reason text)
returns table (id uuid, is_cancelled boolean)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz;
  _lines holdfast.line_change[];
  _cancelled uuid[];
  _held uuid[];
begin
  perform holdfast._require_read_committed();
  _lines := holdfast._lines_of(_ids);
  select coalesce(array_agg(id) filter (where state = 'running'), '{}') into _held from (
    select r.id, r.state from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for update of r
  ) locked;
  _at := holdfast._now();
  if _lines is not null then
    _lines := holdfast._leave_lines(_ids);
  end if;
  with cancelled as (
    update holdfast.runs r
    set state = 'cancelled', is_set_aside = false, token = r.token + case when r.state = 'running' then 1 else 0 end, lease_until = null,
      ended_at = _at, reason = _reason
    where r.id = any(_ids) and r.state in ('scheduled', 'waiting', 'running', 'suspended')
    returning r.id
  )
  select coalesce(array_agg(id), '{}') into _cancelled from cancelled;

  if cardinality(_lines) > 0 then
    perform holdfast._fill(null, _lines, '{}');
  end if;
  perform holdfast._follow_ends(_cancelled, _cancelled, _at);
  perform holdfast._notify_runs('cancelled', _held);
  perform holdfast._tell_watchers(_cancelled);
  return query select r.id, r.id = any(_cancelled) from holdfast.runs r where r.id = any(_ids);
end
$$;
