import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { define } from '../support/limits.ts'
import { readsIn, type Reads } from '../support/reads.ts'
import { claimFor, newWorker, settle, startItem } from '../support/runs.ts'

/**
 * With 1,000,000 runs that have ended, 100,000 that wait and 100,000 that are set aside, what claims, settles and sweeps
 * read is what they are about: no table from its beginning, and no line to its end.
 */

const database = useDatabase()

const backlog = 100_000

const readsOf = (session: Connection, work: () => Promise<unknown>): Promise<Reads> =>
  readsIn(['runs', 'lines', 'steps', 'keys'], session, work)

async function grow(session: Connection, workflow: string, group: string | null, aside: boolean): Promise<void> {
  await session.query(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, token, group_key, is_set_aside)
     select gen_random_uuid(), $1, 'waiting', 0, 10, now(), now() - interval '1 d' + n * interval '1 us', 0, $2, $3
     from generate_series(1, $4::int) n`,
    [workflow, group, aside, backlog],
  )
}

const kinds = [
  { kind: 'a group', limits: { concurrencyPerGroup: 1 } },
  { kind: 'a workflow', limits: { concurrency: 2 } },
  { kind: 'groups under a workflow', limits: { concurrency: 2, concurrencyPerGroup: 1 } },
  { kind: 'fair groups', limits: { concurrency: 2, isFair: true } },
  { kind: 'a rated group', limits: { concurrencyPerGroup: 1, ratePerGroup: { limit: 1_000_000, perMs: 1_000 } } },
] as const

test(
  'LIMIT-04: claims, settles and sweeps read what they are about, however much there is',
  { timeout: 120_000 },
  async () => {
    const session = await connect(database)
    const worker = newWorker()
    await session.query(
      `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, token, ended_at, group_key)
     select gen_random_uuid(), 'ended', 'done', 0, 10, now(), now(), 2, now(), 'g' || n % 1000 from generate_series(1, $1::int) n`,
      [backlog * 10],
    )
    await grow(session, 'unlimited', null, false)
    await grow(session, 'limited', 'full', true)
    await session.query('analyze holdfast.runs')
    for (const { kind, limits } of kinds) {
      await define(session, 'limited', limits)
      await session.call('promote_due', 100)
      const done: Record<string, Reads> = {}
      for (let round = 0; round < 7; round += 1) {
        const ids = ['full', 'other'].map((group_key) => ({
          ...startItem({ workflow: 'limited', group_key }),
          group_key,
        }))
        done['start'] = await readsOf(session, () => session.call('start_runs', ids))
        const tickets = ids.map(({ id, group_key: group }) => ({ run: id, group }))
        let claimed: { id: string; token: number }[] = []
        done['claim'] = await readsOf(
          session,
          async () => void (claimed = await claimFor(session, worker, tickets, 'limited')),
        )
        done['settle'] = await readsOf(session, () =>
          settle(
            session,
            worker,
            claimed.map(({ id, token }) => ({ id, token, outcome: 'done' })),
          ),
        )
        done['sweep'] = await readsOf(session, async () => {
          await session.call('mend_lines', 500)
          await session.call('fail_overdue', 500)
          await session.call('promote_due', 500)
        })
      }
      for (const [call, { scans, fetched }] of Object.entries(done)) {
        expect({ kind, call, scans, fetched: Math.max(fetched, 300) }).toEqual({ kind, call, scans: 0, fetched: 300 })
      }
    }
  },
)

test.each(kinds)(
  'LIMIT-04: plans made for a few lines of $kind read only their own once there are many',
  async ({ limits }) => {
    const session = await connect(database)
    const worker = newWorker()
    const workflow = newWorker()
    await define(session, workflow, limits)
    const play = async (groups: readonly string[]): Promise<Record<string, Reads>> => {
      const items = groups.map((group_key) => startItem({ workflow, group_key }))
      await session.call('start_runs', items)
      const tickets = items.map(({ id, group_key: group }) => ({ run: id, group }))
      let claimed: { id: string; token: number }[] = []
      const claim = await readsOf(
        session,
        async () => void (claimed = await claimFor(session, worker, tickets, workflow)),
      )
      const look = await readsOf(session, () => claimFor(session, worker, tickets, workflow))
      const settled = await readsOf(session, () =>
        settle(
          session,
          worker,
          claimed.map(({ id, token }) => ({ id, token, outcome: 'done', lease_ms: 30_000 })),
        ),
      )
      return { claim, look, settle: settled }
    }
    const batch = Array.from({ length: 32 }, (_, n) => `group ${n}`)
    for (let round = 0; round < 6; round += 1) await play(['group 0', 'group 1'])
    await session.query('analyze holdfast.lines')
    for (let round = 0; round < 6; round += 1) await play(['group 0', 'group 1'])
    await session.query(
      `insert into holdfast.lines (workflow, group_key, is_wide, at) select $1, 'other ' || n, false, now() from generate_series(1, 2000) n`,
      [workflow],
    )
    await play(batch)
    for (const [call, { scans, fetched }] of Object.entries(await play(batch))) {
      expect({ call, scans, fetched: Math.max(fetched, 1_000) }).toEqual({ call, scans: 0, fetched: 1_000 })
    }
  },
)
