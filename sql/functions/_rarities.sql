-- What few runs have, for their claims, as JSON: `retries`, and of a run that undoes another one that one's id and memos.
create or replace function holdfast._rarities(_run holdfast.runs) returns text
language sql stable as $$
  select json_build_object('retries', _run.retries, 'undoes', _run.undoes, 'undone', case when _run.undoes is not null then (
    select json_agg(json_build_object('key', s.key, 'kind', s.kind, 'value', s.value::text, 'types', s.types,
      'seq', s.seq, 'ordinal', s.ordinal, 'attempt', s.attempt, 'token', s.token, 'tries', s.tries, 'hasRollback', s.has_rollback) order by s.seq)
    from holdfast.steps s where s.run_id = _run.undoes) end)::text
$$;
