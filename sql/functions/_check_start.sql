-- For holdfast.start: refuses arguments that client.start refuses.
create or replace function holdfast._check_start(_key text, _group text, _due_at timestamptz, _priority integer,
  _metadata json, _max_attempts integer, _delay interval) returns void
language plpgsql stable as $$
declare
  _problem text;
begin
  _problem := case
    when length(_key) not between 1 and 512 then 'key must have 1 to 512 characters.'
    when length(_group) not between 1 and 512 then 'group must have 1 to 512 characters.'
    when _due_at is not null and _delay is not null then 'due_at and delay contradict each other.'
    when _due_at not between '0001-01-01 UTC' and '9999-12-31 23:59:59.999 UTC' then 'due_at must be between the years 1 and 9999.'
    when _delay not between interval '0' and interval '8000 years' then 'delay must not be negative, nor over 8000 years.'
    when _priority not between -32768 and 32767 then 'priority must be from -32768 to 32767.'
    when _max_attempts < 1 then 'max_attempts must be at least 1.'
    when json_typeof(_metadata) <> 'object' then 'metadata must be an object of texts.'
  end;
  if _problem is null and _metadata is not null then
    select 'metadata must be an object of at most 64 texts of at most 4096 characters.' into _problem
    from json_each(_metadata) m
    having count(*) > 64 or bool_or(json_typeof(m.value) <> 'string' or length(m.value #>> '{}') > 4096);
  end if;
  if _problem is not null then
    raise exception '%', _problem using errcode = 'WF008';
  end if;
end
$$;
