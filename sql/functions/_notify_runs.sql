-- Tells every listening process a word about these runs, at most 100 of them in a message.
create or replace function holdfast._notify_runs(_word text, _ids uuid[]) returns void
language plpgsql as $$
begin
  perform holdfast._notify(_word || ' ' || string_agg(id::text, ' '))
  from (select id, (row_number() over () - 1) / 100 as part from unnest(_ids) id) told
  group by part;
end
$$;
