-- Whether anything is limited at all.
create or replace function holdfast._is_limit(_limits holdfast.limits) returns boolean
language sql immutable as $$
  select (_limits).concurrency is not null or (_limits).group_concurrency is not null or (_limits).rate is not null
    or (_limits).group_rate is not null or (_limits).is_fair or (_limits).is_paused
$$;
