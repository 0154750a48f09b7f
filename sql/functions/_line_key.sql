-- What the keys of a line's tickets begin with: letters and digits alone, of one length, which every collation sorts alike.
create or replace function holdfast._line_key(_workflow text, _group text, _is_wide boolean) returns text
language sql immutable as $$
  select 'line' || md5(json_build_array(_workflow, _group, _is_wide)::text)
$$;
