import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { define, startIn, takeTickets, type GivenLimits } from '../support/limits.ts'
import { claimFor, newWorker, settle } from '../support/runs.ts'

const database = useDatabase()

interface Audit {
  readonly workflows: readonly {
    readonly workflow: string
    readonly claims: number
    readonly removedUntil: string | null
  }[]
  readonly violations: readonly {
    readonly workflow: string
    readonly group: string | null
    readonly kind: string
    readonly found: number
    readonly allowed: number
    readonly run: string
  }[]
}

async function audit(session: Connection, workflow: string, lastMs: number | null = null): Promise<Audit> {
  const [row] = await session.call<{ audit_limits: string }>('audit_limits', null, lastMs)
  const { workflows, violations } = JSON.parse(row?.audit_limits ?? '{}') as Audit
  return {
    workflows: workflows.filter((each) => each.workflow === workflow),
    violations: violations.filter((each) => each.workflow === workflow),
  }
}

let count = 0

/** A workflow whose four runs, of one group, have run one after the other. */
async function played(session: Connection, limits: GivenLimits): Promise<{ workflow: string; ids: string[] }> {
  const workflow = `audited ${(count += 1)}`
  await define(session, workflow, limits)
  const ids = await startIn(session, workflow, 'g', 'g', 'g', 'g')
  const worker = newWorker()
  for (let tickets; (tickets = await takeTickets(database, workflow)).length > 0;) {
    for (const { id, token } of await claimFor(session, worker, tickets, workflow)) {
      await settle(session, worker, [{ id, token, outcome: 'done' }])
    }
  }
  return { workflow, ids }
}

test('LIMIT-08: the audit of what was kept names no violation, and counts the claims it covers', async () => {
  const session = await connect(database)
  const { workflow } = await played(session, { concurrencyPerGroup: 1 })
  expect(await audit(session, workflow)).toMatchObject({
    workflows: [{ claims: 4, removedUntil: null }],
    violations: [],
  })
  expect(await audit(session, workflow, 0)).toMatchObject({ workflows: [{ claims: 0 }] })
})

test.each([
  { limits: { concurrencyPerGroup: 1 }, group: 'g' },
  { limits: { concurrency: 1 }, group: null },
])('LIMIT-08: two claims at once under $limits are found', async ({ limits, group }) => {
  const session = await connect(database)
  const { workflow, ids } = await played(session, limits)
  await session.query(`update holdfast.runs set ended_at = ended_at + interval '1 h' where id = $1`, [ids[0]])
  const { violations } = await audit(session, workflow)
  expect(violations.map(({ run }) => run)).toEqual(ids.slice(1))
  expect(violations[0]).toMatchObject({ kind: 'concurrency', group, found: 2, allowed: 1 })
})

test.each([
  { limits: { ratePerGroup: { limit: 4, perMs: 3_600_000 } }, group: 'g' },
  { limits: { rate: { limit: 4, perMs: 3_600_000 } }, group: null },
])(
  'LIMIT-08: one start too many under $limits is found, and one that was over when it began is none',
  async ({ limits, group }) => {
    const session = await connect(database)
    const { workflow, ids } = await played(session, limits)
    expect((await audit(session, workflow)).violations).toEqual([])
    const [extra] = (await startIn(session, workflow, 'g')) as [string]
    await session.query(
      `update holdfast.runs set state = 'done', token = 2, attempt = 1, claimed_at = now(), ended_at = now(), worker_id = $2 where id = $1`,
      [extra, newWorker()],
    )
    const { violations } = await audit(session, workflow)
    expect(violations).toMatchObject([{ kind: 'rate', group, run: extra, found: 5, allowed: 4 }])
    await session.query(`update holdfast.runs set claimed_at = claimed_at - interval '61 minutes' where id = $1`, [
      ids[0],
    ])
    expect((await audit(session, workflow)).violations).toEqual([])
  },
)

test('LIMIT-08: each claim is judged by the limit of its time', async () => {
  const session = await connect(database)
  const workflow = `audited ${(count += 1)}`
  await define(session, workflow, { concurrency: 3 })
  await startIn(session, workflow, 'g', 'g', 'g')
  const worker = newWorker()
  const three = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await session.call('set_limits', workflow, { concurrency: 1 }, null)
  for (const { id, token } of three) await settle(session, worker, [{ id, token, outcome: 'done' }])
  expect((await audit(session, workflow)).violations).toEqual([])
})

test('LIMIT-08: the audit says since when runs are missing from the record', async () => {
  const session = await connect(database)
  const { workflow, ids } = await played(session, { concurrencyPerGroup: 1 })
  await session.query(`update holdfast.runs set ended_at = ended_at - interval '2 d' where id = $1`, [ids[0]])
  await session.query(`update holdfast.runs set ended_at = ended_at + interval '1 h' where id = $1`, [ids[1]])
  await session.call('prune_runs', 100)
  const { workflows } = await audit(session, workflow)
  expect(workflows[0]?.removedUntil).not.toBeNull()
})
