-- A ticket that says "look at this line". Its key begins with what all of a line's have (_line_key), and ends with its
-- number, so that those in the queue can be counted.
create or replace function holdfast._line_ticket(_workflow text, _group text, _is_wide boolean, _number bigint,
  _rank integer, _run_at timestamptz) returns holdfast_queue.job_spec
language sql stable as $$
  select row(_workflow, json_build_object('group', _group), null, _run_at, 32767::smallint,
    holdfast._line_key(_workflow, _group, _is_wide) || lpad(_number::text, 12, '0'), _rank::smallint,
    null)::holdfast_queue.job_spec
$$;
