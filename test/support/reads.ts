import type { Connection } from './connections.ts'

/** What a call read of some tables: how often one from its beginning, and how many rows by an index. */
export interface Reads {
  readonly scans: number
  readonly fetched: number
}

/** By the counters of the call's session, which may still hold those of calls before, compared. */
export async function readsIn(
  tables: readonly string[],
  session: Connection,
  work: () => Promise<unknown>,
): Promise<Reads> {
  await session.query('begin')
  const before = await counters(tables, session)
  await work()
  const after = await counters(tables, session)
  await session.query('commit')
  return { scans: after.scans - before.scans, fetched: after.fetched - before.fetched }
}

async function counters(tables: readonly string[], session: Connection): Promise<Reads> {
  const [reads] = await session.query(
    `select sum(seq_scan)::int as scans, sum(idx_tup_fetch)::int as fetched from pg_stat_xact_user_tables
     where relname = any($1)`,
    [tables],
  )
  return reads as unknown as Reads
}
