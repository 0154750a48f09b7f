-- Ends a run that was reserved as done, with its output. Refused when the lease was lost: see _refuse_lost. Repeated, it
-- counts as the first.
create or replace function holdfast.ack(id uuid, token integer, output json default null, output_types text default null)
returns void
language plpgsql as $$
begin
  perform holdfast._settle_by_hand($1, $2, 'done', $3, $4, null);
end
$$;
