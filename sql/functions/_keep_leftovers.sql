-- For settle_runs, under its locks: the failures a handler went past, and the last word on steps that were not kept.
-- Only what was settled just now leaves any: a lost claim's token may be one below its run's too.
create or replace function holdfast._keep_leftovers(_ids uuid[], _tokens integer[], _details json[],
  _settled uuid[]) returns void
language sql volatile as $$
  insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, duration_ms, value, types,
    args)
  select i.id, m.key, m.kind, m.seq, m.ordinal, r.attempt, i.token, m.tries, holdfast._now(),
    m.duration_ms, m.value::json, m.types, m.args
  from unnest(_ids, _tokens, _details) i (id, token, details)
  join holdfast.runs r on r.id = i.id and r.token = i.token + 1 and r.id = any(_settled)
  cross join json_to_recordset(i.details -> 'memos') m (key text, kind text, seq integer, ordinal integer, tries smallint,
    duration_ms real, value text, types text, args text)
  where i.details -> 'memos' is not null
  on conflict do nothing;

  insert into holdfast.tries as t (run_id, key, attempt, tries, failed_at, retry_at, error)
  select i.id, s.key, r.attempt, s.tries, holdfast._now(), holdfast._now() + s.retry_ms * interval '1 ms', s.error
  from unnest(_ids, _tokens, _details) i (id, token, details)
  join holdfast.runs r on r.id = i.id and r.token = i.token + 1 and r.id = any(_settled)
  cross join json_to_recordset(i.details -> 'tries') s (key text, tries smallint, retry_ms double precision, error json)
  where i.details -> 'tries' is not null
  on conflict (run_id, key) do update
  set attempt = excluded.attempt, tries = excluded.tries, failed_at = excluded.failed_at,
    retry_at = excluded.retry_at, error = excluded.error;
$$;
