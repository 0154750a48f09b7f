-- Notes the spans of claims that go on, as traceparents, so that a claim whose process dies can be found in its trace. It
-- waits for nobody: what is locked just now, or has ended, is left as it is.
create or replace function holdfast.trace_claims(_ids uuid[], _tokens integer[], _traces text[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  perform holdfast._require_read_committed();
  with locked as materialized (
    select r.id from holdfast.runs r where r.id = any(_ids) order by r.depth, r.id for no key update of r skip locked
  )
  update holdfast.runs r set claim_trace = t.trace
  from unnest(_ids, _tokens, _traces) t (id, token, trace), locked l
  where r.id = any(_ids) and r.id = l.id and r.id = t.id and r.token = t.token;
end
$$;
