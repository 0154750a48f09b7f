-- What metrics say of the whole database, as JSON: `depths` (runs by workflow and state, and for how many seconds the
-- oldest of those that wait has been due), `limits` (by workflow and kind what is in use, the limit, and how many lines are
-- at theirs while runs wait; of groups the one that uses most counts) and `workers` (their slots, and those in use).
--
-- One worker reads for all: null is answered to `_reader` while another one does, for two minutes after it last did or
-- until it has ended. Null reads without that.
create or replace function holdfast.read_metrics(_reader uuid) returns text
language plpgsql as $$
declare
  _at timestamptz := holdfast._now();
begin
  if _reader is not null then
    perform holdfast._require_read_committed();
    perform 1 from holdfast.metrics_reader m
    where m.reader = _reader or m.reader is null or m.until <= _at
      or not exists (select from holdfast.workers w where w.id = m.reader and w.ended_at is null)
    for update skip locked;
    if not found then
      return null;
    end if;
    update holdfast.metrics_reader set reader = _reader, until = _at + interval '2 min';
  end if;
  return json_build_object(
    'depths', (
      select coalesce(json_agg(json_build_object('workflow', d.workflow, 'state', d.state, 'count', d.count,
        'oldest', case when d.state = 'waiting' then greatest(0, extract(epoch from _at - d.oldest)) end)), '[]')
      from holdfast._depths() d),
    'limits', (
      select coalesce(json_agg(json_build_object('workflow', m.workflow, 'kind', k.kind, 'usage', coalesce(k.usage, 0),
        'limit', k.max, 'saturated', coalesce(k.saturated, 0))), '[]')
      from holdfast.limits m
      left join lateral (
        select l.live, l.aside, case when m.rate is not null then holdfast._rate_left(m.rate, m.rate_per, l.ring, _at) end as left
        from holdfast.lines l where l.workflow = m.workflow and l.group_key = '' and l.is_wide
      ) wide on true
      left join lateral (
        select max(g.live) as live, max(m.group_rate - g.left) as started,
          count(*) filter (where g.live >= m.group_concurrency and g.aside > 0) as full_count,
          count(*) filter (where g.left <= 0 and g.aside > 0) as spent_count
        from (
          select l.live, l.aside, case when m.group_rate is not null
            then holdfast._rate_left(m.group_rate, m.group_rate_per, l.ring, _at) end as left
          from holdfast.lines l where l.workflow = m.workflow and not l.is_wide and l.group_key <> ''
        ) g
        where m.group_concurrency is not null or m.group_rate is not null
      ) groups on true
      cross join lateral (values
        ('concurrency', m.concurrency, wide.live, (wide.live >= m.concurrency and wide.aside > 0)::integer),
        ('rate', m.rate, m.rate - wide.left, (wide.left <= 0 and wide.aside > 0)::integer),
        ('concurrency_per_group', m.group_concurrency, groups.live, groups.full_count),
        ('rate_per_group', m.group_rate, groups.started, groups.spent_count)) k (kind, max, usage, saturated)
      where k.max is not null),
    'workers', (
      select coalesce(json_agg(json_build_object('id', w.id, 'slots', w.slots,
        'used', (select count(*) from holdfast.runs r where r.worker_id = w.id and r.token % 2 = 1))), '[]')
      from holdfast.workers w where w.ended_at is null)
  )::text;
end
$$;
