-- Starts one run by its workflow's name, for triggers, other languages and the command line. The policy is that of the
-- workflow's newest definition on record; an unknown name is refused. `input` is checked against the schema at the
-- claim, since only a worker knows it.
create or replace function holdfast.start(workflow text, input json, key text default null, "group" text default null,
  due_at timestamptz default null, priority integer default null, id uuid default null, metadata json default null,
  max_attempts integer default null, delay interval default null)
returns table (id uuid, created boolean, state text)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select case when r.is_full then holdfast._refuse_full($1) else r.id end, r.is_created, r.state
  from holdfast.start_runs(json_build_array(holdfast._start_item($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))) r
$$;
