-- What went before a claim, for its trace, as JSON: the trace context of what started the run, the root of its family, the
-- last claim's traceparent, and for how many milliseconds the run had been out of its hands and set aside, for which kind
-- of limit.
create or replace function holdfast._past(_run holdfast.runs) returns text
language sql stable as $$
  select json_build_object('traceparent', _run.traceparent, 'tracestate', _run.tracestate, 'root', _run.root_id,
    'isChild', _run.parent_id is not null and _run.undoes is null,
    'previous', p.trace, 'restedMs', extract(epoch from _run.claimed_at - p.ended_at) * 1000,
    'asideMs', extract(epoch from _run.claimed_at - _run.set_aside_at) * 1000, 'asideFor', _run.set_aside_for)::text
  from (select) once left join holdfast.claims p on p.run_id = _run.id and p.token = _run.token - 2
$$;
