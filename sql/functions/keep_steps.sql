-- Keeps outcomes of steps, one array a column. Answers only what did not go as asked, n from 1: `lost` with its reason,
-- or a memo that was there already, which wins. A memo sent again after its reply was lost went as asked, except
-- _is_once: there, rows that a transaction wrote beside it must not commit twice.
--
-- The fence is the lock: a join on the token without it let a stale step commit after a take-over.
--
-- Memos are looked up before they are inserted only after one was met: `on conflict do nothing` would look up each,
-- and cost a sixth of the whole.
create or replace function holdfast.keep_steps(_ids uuid[], _tokens integer[], _keys text[], _kinds text[],
  _values json[], _types text[], _seqs integer[], _ordinals integer[], _tries smallint[], _durations_ms real[],
  _args text[], _rollbacks boolean[], _is_once boolean)
returns table (n integer, lost text, kind text, value text, types text)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  _at timestamptz := holdfast._now();
  _count integer;
  _conflicts integer := 0;
begin
  perform holdfast._require_read_committed();
  if _is_once then
    -- The caller's commit follows. Should its process freeze before it, the run must not stay locked.
    perform set_config('idle_in_transaction_session_timeout', '5s', true);
  end if;
  loop
    begin
      with fenced as materialized (
        select r.id, r.token, r.attempt from holdfast.runs r where r.id = any(_ids)
        order by r.depth, r.id
        for key share of r
      )
      insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, duration_ms, value,
        types, args, has_rollback)
      select i.id, i.key, i.kind, i.seq, i.ordinal, f.attempt, i.token, i.tries, _at, i.duration_ms, i.value,
        i.types, i.args, i.has_rollback
      from unnest(_ids, _tokens, _keys, _kinds, _values, _types, _seqs, _ordinals, _tries, _durations_ms, _args, _rollbacks)
        i (id, token, key, kind, value, types, seq, ordinal, tries, duration_ms, args, has_rollback)
      join fenced f on f.id = i.id and f.token = i.token
      where _conflicts = 0 or not exists (
        select from holdfast.steps s where s.run_id = i.id and s.key = i.key limit 1);
      get diagnostics _count = row_count;
      exit;
    exception when unique_violation then
      -- Another session may keep one between this look and that insert.
      _conflicts := _conflicts + 1;
      if _conflicts > 10 then
        raise;
      end if;
    end;
  end loop;

  if _count < cardinality(_ids) then
    return query
    select i.n::integer, case when r.id is null then holdfast._lost_reason(i.id, i.token) end, s.kind, s.value::text,
      s.types
    from unnest(_ids, _tokens, _keys, _seqs) with ordinality i (id, token, key, seq, n)
    left join lateral (
      select r.id from holdfast.runs r where r.id = i.id and r.token = i.token limit 1
    ) r on true
    left join lateral (
      select s.* from holdfast.steps s where s.run_id = i.id and s.key = i.key limit 1
    ) s on true
    where r.id is null or s.token <> i.token or s.seq <> i.seq or _is_once;
  end if;
end
$$;
