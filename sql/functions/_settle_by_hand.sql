-- Settles one claim that was made by hand, and raises if it is lost.
create or replace function holdfast._settle_by_hand(_run uuid, _token integer, _outcome text, _output json,
  _output_types text, _details json) returns void
language plpgsql as $$
declare
  _lost text;
begin
  -- The token is the fence; by whom a claim was made is not asked again.
  select s.lost into _lost
  from holdfast.settle_runs(
    (select c.worker_id from holdfast.all_claims c where c.run_id = _run and c.token = _token),
    array[_run], array[_token], array[_outcome], array[null::integer], array[_output], array[_output_types],
    array[_details]) s;
  perform holdfast._refuse_lost(_run, _lost);
end
$$;
