-- A worker that stops gives back tickets it had taken and not begun: their runs get new ones.
create or replace function holdfast.return_tickets(_ids uuid[]) returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  perform holdfast._require_read_committed();
  perform 1 from (
    select from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for no key update of r
  ) locked;
  return holdfast._issue_tickets((
    select array_agg(holdfast._ticket(r.id, r.token, r.workflow, r.priority, r.due_at)
      order by r.priority desc, r.due_at, r.id)
    from holdfast.runs r where r.id = any(_ids) and r.state = 'waiting'));
end
$$;
