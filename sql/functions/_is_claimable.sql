-- Whether a waiting run may be claimed at all: not past its deadline, and nobody has asked to cancel it.
create or replace function holdfast._is_claimable(_id uuid, _deadline_at timestamptz, _at timestamptz) returns boolean
language sql stable as $$
  select (_deadline_at is null or _deadline_at > _at)
    and not exists (select from holdfast.cancels c where c.run_id = _id)
$$;
