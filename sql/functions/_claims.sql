-- Claims as a worker gets them: these runs, with the memos and tries they recall. Times are milliseconds: until the
-- deadline and until a step's next try from `_at`, of the lease's end since 1970. `_others` were not claimed here, and are
-- to be asked for in the other way: answered with their ids alone. `rare` is what few runs have (_rarities); how long it
-- was due, how old it is, and `past` (_past) are for traces and metrics.
create or replace function holdfast._claims(_ids uuid[], _at timestamptz, _is_limited boolean, _others uuid[])
returns table (id uuid, token integer, workflow text, key text, group_key text, attempt smallint,
  max_attempts smallint, deadline_ms double precision, metadata text, input text, input_types text,
  memos text, tries text, lease_until_ms double precision, is_limited boolean, rare text, waited_ms double precision, age_ms double precision,
  past text)
language sql stable as $$
  select r.id, r.token, r.workflow, r.key, nullif(r.group_key, ''), r.attempt, r.max_attempts,
    (extract(epoch from r.deadline_at - _at) * 1000)::double precision, r.metadata::text, r.input::text, r.input_types,
    case when r.token > 1 then (
      select json_agg(json_build_object('key', s.key, 'kind', s.kind, 'value', s.value::text, 'types', s.types,
        'seq', s.seq, 'ordinal', s.ordinal, 'attempt', s.attempt, 'token', s.token, 'tries', s.tries) order by s.seq)
      from holdfast.steps s where s.run_id = r.id)::text end,
    case when r.token > 1 then (
      select json_agg(json_build_object('key', t.key, 'tries', t.tries,
        'waitMs', greatest(0, extract(epoch from t.retry_at - _at) * 1000)))
      from holdfast.tries t where t.run_id = r.id and t.attempt = r.attempt and t.retry_at is not null)::text end,
    (extract(epoch from r.lease_until) * 1000)::double precision, _is_limited,
    case when r.retries > 0 or r.undoes is not null then holdfast._rarities(r) end,
    (extract(epoch from r.claimed_at - r.due_at) * 1000)::double precision,
    (extract(epoch from r.claimed_at - r.created_at) * 1000)::double precision,
    case when r.token > 1 or r.traceparent is not null or r.set_aside_at is not null or r.root_id is not null
      then holdfast._past(r) end
  from holdfast.runs r where r.id = any(_ids)
  union all
  select i.id, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
  from unnest(_others) i (id)
$$;
