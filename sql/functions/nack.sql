-- Ends a claim that was reserved as failed: the run is due again after `after` (default: its workflow's backoff), or has
-- failed for good if no attempt is left or it is `permanent`. Refused when the lease was lost: see _refuse_lost.
create or replace function holdfast.nack(id uuid, token integer, after interval default null,
  permanent boolean default false, reason text default null)
returns void
language plpgsql as $$
begin
  perform holdfast._settle_by_hand($1, $2, case when permanent then 'failed' else 'retry' end, null, null,
    json_build_object('reason', reason, 'failure', case when permanent then 'rejected' end,
      'delay_ms', coalesce(extract(epoch from after) * 1000, holdfast._backoff_ms($1))));
end
$$;
