-- Before these runs are removed: remembers until when their workflows' record has gaps, for the audit, and removes the
-- lines of their groups where nothing else is left.
create or replace function holdfast._forget_runs(_ids uuid[]) returns void
language sql volatile as $$
  insert into holdfast.forgotten as f (workflow, until)
  select r.workflow, max(r.ended_at) from holdfast.runs r where r.id = any(_ids) group by r.workflow order by r.workflow
  on conflict (workflow) do update set until = greatest(f.until, excluded.until);
  select holdfast._remove_lines(array_agg(g.workflow), array_agg(g.group_key)) from (
    select distinct r.workflow, r.group_key from holdfast.runs r where r.id = any(_ids) and r.group_key is not null
  ) g;
$$;
