-- Whether two JSON texts say the same, however they are spaced and ordered. What jsonb cannot hold is compared as text.
create or replace function holdfast._is_same_json(_one text, _other text) returns boolean
language plpgsql immutable as $$
begin
  if _one is not distinct from _other then
    return true;
  end if;
  return coalesce(_one::jsonb = _other::jsonb, false);
exception when data_exception then
  return false;
end
$$;
