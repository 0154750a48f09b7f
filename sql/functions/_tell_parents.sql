-- Tells the runs that wait for the ends of these runs, in the transaction that ended them: a signal each, with what became
-- of the child, and a ticket; one that is busy beside its wait hears of it. Nobody's row is locked for it.
create or replace function holdfast._tell_parents(_ids uuid[], _at timestamptz) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  _tickets holdfast_queue.job_spec[];
  _running uuid[];
begin
  with told as (
    insert into holdfast.signals (run_id, id, name, kind, sent_at, payload, types)
    select coalesce(p.chain_id, p.id), w.name, w.name, case when c.state = 'done' then 'answer' else 'failure' end, _at,
      case when c.state = 'done' then coalesce(c.output, 'null') else holdfast._child_error(c) end,
      case when c.state = 'done' then c.output_types end
    from holdfast.runs c
    join holdfast.waits w on w.child_id = c.id
    cross join lateral (select p.id, p.chain_id, p.ended_at from holdfast.runs p where p.id = w.run_id limit 1) p
    where c.id = any(_ids) and w.child_id = any(_ids) and c.ended_at is not null and c.continued_as is null and p.ended_at is null
    on conflict do nothing
    returning run_id, name
  )
  select array_agg(holdfast._wake_ticket(p.run, md5(w.name), _at)), array_agg(p.id) filter (where p.state = 'running')
  into _tickets, _running
  from holdfast.waits w
  cross join lateral (select p as run, p.id, p.chain_id, p.state from holdfast.runs p where p.id = w.run_id limit 1) p
  join told t on t.run_id = coalesce(p.chain_id, p.id) and t.name = w.name
  where w.child_id = any(_ids);
  perform holdfast._issue_tickets(_tickets);
  perform holdfast._notify_runs('signalled', _running);
end
$$;
