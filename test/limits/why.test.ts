import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, NotFoundError, type Reason } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const input = z.object({ tenant: z.string() })
const tenant = ({ tenant: name }: z.infer<typeof input>): string => name

/** The reason of a kind, and no more of it than the test is about. */
function reasonOf<K extends Reason['kind']>(reasons: readonly Reason[], kind: K): Extract<Reason, { kind: K }> {
  const found = reasons.find((reason) => reason.kind === kind)
  expect(reasons.map((reason) => reason.kind)).toContain(kind)
  return found as Extract<Reason, { kind: K }>
}

test('RUN-10: why names the place in line, and get how many go before', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'in line', handler: () => 1 })
  const runs = await client.startMany(workflow, [
    { input: undefined },
    { input: undefined, priority: 9 },
    { input: undefined },
  ])
  const [second, first, third] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]]
  expect(await client.get(third)).toMatchObject({ state: 'waiting', ahead: 2 })
  expect(await client.get(first)).toMatchObject({ ahead: 0 })
  const why = await client.why(third)
  expect(why).toMatchObject({ run: third.id, state: 'waiting', ahead: 2, waiting: 3 })
  expect(reasonOf(why.reasons, 'line')).toEqual({ kind: 'line', ahead: 2, waiting: 3 })
  expect(reasonOf(why.reasons, 'no_worker')).toEqual({ kind: 'no_worker' })
  expect(await client.get(second)).toMatchObject({ ahead: 1 })
  expect((await client.list({ workflow: 'in line' })).items.map(({ ahead }) => ahead)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('RUN-10: in a limited group, the place is that of its group', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({
    name: 'by tenant',
    input,
    group: tenant,
    concurrency: { perGroup: 1 },
    handler: () => 1,
  })
  const tenants = ['a', 'a', 'a', 'b']
  const runs = await client.startMany(
    workflow,
    tenants.map((name) => ({ input: { tenant: name } })),
  )
  expect(await client.get(runs[3] as { id: string })).toMatchObject({ group: 'b', ahead: 0 })
  expect(await client.get(runs[2] as { id: string })).toMatchObject({ group: 'a', ahead: 2 })
})

test('why names who holds a full group, with worker and age, and the slots that are taken', async () => {
  const client = openClient(database)
  const [begun, go] = [signal(), signal()]
  const workflow = defineWorkflow({
    name: 'held',
    input,
    group: tenant,
    concurrency: { limit: 1, perGroup: 1 },
    handler: async () => {
      begun.give()
      await go.promise
    },
  })
  const worker = await startWorker(database, { workflows: [workflow], concurrency: 1 })
  const holder = await client.start(workflow, { tenant: 'a' })
  await begun.promise
  const next = await client.start(workflow, { tenant: 'a' })
  const why = await client.why(next)
  const group = reasonOf(why.reasons, 'concurrency')
  expect(group).toMatchObject({ of: 'group', limit: 1, live: 1, holders: [{ run: holder.id, worker: worker.id }] })
  expect(group.holders[0]?.workerName).toContain(String(process.pid))
  expect(group.holders[0]?.since).toBeInstanceOf(Date)
  expect(why.reasons).toContainEqual(expect.objectContaining({ kind: 'concurrency', of: 'workflow' }))
  expect(reasonOf(why.reasons, 'slots')).toEqual({ kind: 'slots', slots: 1, running: 1 })
  const running = await client.why(holder)
  expect(reasonOf(running.reasons, 'running')).toMatchObject({ worker: worker.id, isDead: false })
  go.give()
  await client.result(next)
  const ended = await client.why(next)
  expect(reasonOf(ended.reasons, 'ended')).toMatchObject({ state: 'done' })
})

test('why says when a rate lets the next begin', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'rated', rate: { limit: 1, per: '1h' }, handler: () => 1 })
  await startWorker(database, { workflows: [workflow] })
  await client.result(await client.start(workflow))
  const next = await client.start(workflow)
  const rate = reasonOf((await client.why(next)).reasons, 'rate')
  expect(rate).toMatchObject({ of: 'workflow', limit: 1, perMs: 3_600_000 })
  const first = await database.query<{ at: Date }>(
    `select claimed_at as at from holdfast.runs where workflow = 'rated' and state = 'done'`,
  )
  expect(rate.opensAt.getTime()).toBe(first.rows[0] && first.rows[0].at.getTime() + 3_600_000)
})

test('why tells a scheduled run by its time, a retry and a snooze by what they said', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({
    name: 'later',
    handler: (_, run) => (run.key === 'snoozes' ? run.snooze('1h', 'not yet') : run.retry('1h', 'try later')),
  })
  const at = new Date('2090-01-01T00:00:00Z')
  const scheduled = await client.start(workflow, undefined, { at })
  expect(reasonOf((await client.why(scheduled)).reasons, 'scheduled')).toEqual({
    kind: 'scheduled',
    until: at,
    after: 'start',
    reason: undefined,
  })
  await startWorker(database, { workflows: [workflow] })
  for (const [key, after, reason] of [
    ['snoozes', 'snooze', 'not yet'],
    ['retries', 'retry', 'try later'],
  ] as const) {
    const run = await client.start(workflow, undefined, { key })
    for await (const view of client.watch(run)) if (view.state === 'scheduled') break
    expect(reasonOf((await client.why(run)).reasons, 'scheduled')).toMatchObject({ after, reason })
  }
})

test('why says by whom a workflow was paused', async () => {
  const client = openClient(database)
  const session = await connect(database)
  const workflow = defineWorkflow({ name: 'paused', handler: () => 1 })
  const run = await client.start(workflow)
  await session.call('pause_workflow', 'paused', 'ada', 'mail is down')
  const paused = reasonOf((await client.why(run)).reasons, 'paused')
  expect(paused).toMatchObject({ by: 'ada', reason: 'mail is down' })
  await session.call('resume_workflow', 'paused')
  await startWorker(database, { workflows: [workflow] })
  await client.result(run)
})

test('why of no run is NotFoundError', async () => {
  const client = openClient(database)
  await expect(client.why(newId())).rejects.toThrow(NotFoundError)
  await expect(client.why({ workflow: 'paused', key: 'none' })).rejects.toThrow(NotFoundError)
})
