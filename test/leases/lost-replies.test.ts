import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { startProxy } from '../support/proxy.ts'
import { claim } from '../support/runs.ts'
import { troubled, type Trouble } from '../support/troubled.ts'
import { variant } from '../support/variant.ts'
import { openClient, recordingLogger, signal, startWorker } from '../support/worker.ts'
import { burnsAndStays } from './forked-workflows.ts'

const database = useDatabase()

async function claimsOf(runId: string): Promise<unknown[]> {
  const { rows } = await database.query(
    'select outcome, attempt from holdfast.all_claims where run_id = $1 order by token',
    [runId],
  )
  return rows
}

test.each<{ course: readonly Trouble[]; calls: number; claims: object[] }>([
  { course: ['made and its reply lost'], calls: 2, claims: [{ outcome: 'done', attempt: 1 }] },
  { course: ['made and its reply lost', 'locked'], calls: 3, claims: [{ outcome: 'done', attempt: 1 }] },
  {
    course: ['made and its reply lost', 'refused'],
    calls: 3,
    claims: [
      { outcome: 'released', attempt: 1 },
      { outcome: 'done', attempt: 1 },
    ],
  },
])('LEASE-15: a claim of which $course is adopted or given back, uncounted', async ({ course, calls, claims }) => {
  const workflow = defineWorkflow({
    name: `claimed ${course.join(' - ')}`,
    lease: '1.5s',
    handler: (_, run) => run.attempt,
  })
  const trouble = troubled('claim_runs', course)
  await startWorker(database, { workflows: [workflow], kind: trouble.kind })
  const client = openClient(database)
  const started = await client.start(workflow)
  expect(await client.result(started)).toBe(1)
  expect(await claimsOf(started.id)).toEqual(claims)
  expect(trouble.calls()).toBe(calls)
})

test('LEASE-15: several claims of one lost reply are all adopted, though they are asked for again one by one', async () => {
  const workflow = defineWorkflow({ name: 'claimed together', handler: (_, run) => run.attempt })
  const client = openClient(database)
  const started = await Promise.all(Array.from({ length: 8 }, () => client.start(workflow)))
  const { kind } = troubled('claim_runs', ['made and its reply lost', 'locked', 'locked', 'locked', 'locked'])
  await startWorker(database, { workflows: [workflow], kind })
  expect(new Set(await Promise.all(started.map((run) => client.result(run))))).toEqual(new Set([1]))
  for (const { id } of started) expect(await claimsOf(id)).toEqual([{ outcome: 'done', attempt: 1 }])
})

test.each<{ course: readonly Trouble[]; claims: object[] }>([
  { course: ['made and its reply lost'], claims: [{ outcome: 'done', attempt: 1 }] },
  {
    course: ['refused'],
    claims: [
      { outcome: 'released', attempt: 1 },
      { outcome: 'done', attempt: 1 },
    ],
  },
])('LEASE-15: a settle of which $course leaves no run behind, and counts no attempt', async ({ course, claims }) => {
  const workflow = defineWorkflow({
    name: `settled ${course.join(' - ')}`,
    lease: '1.5s',
    handler: (_, run) => run.attempt,
  })
  await startWorker(database, { workflows: [workflow], kind: troubled('settle_runs', course).kind })
  const client = openClient(database)
  const started = await client.start(workflow)
  expect(await client.result(started)).toBe(1)
  expect(await claimsOf(started.id)).toEqual(claims)
})

test('LEASE-15: over the wire too: the reply to a claim, a settle and a renewal is cut off, and nothing is wedged', async () => {
  const [entered, go] = [signal(), signal()]
  const workflow = defineWorkflow({
    name: 'cut off',
    lease: '1.5s',
    handler: async (_, run) => {
      entered.give()
      await go.promise
      return run.attempt
    },
  })
  // On a caller's pool no call is prepared, and each is read anew.
  const call = (fn: string): RegExp => new RegExp(`^${variant.poolSize === undefined ? 'B' : 'P'}.*${fn}`, 's')
  const proxy = await startProxy(database)
  await startWorker(proxy, { workflows: [workflow] })
  const client = openClient(database)
  const claimed = proxy.cut(call('claim_runs'), { when: 'after' })
  const started = await client.start(workflow)
  await claimed
  await entered.promise
  await proxy.cut(/^P.*renew_leases/s, { when: 'after' })
  const settled = proxy.cut(call('settle_runs'), { when: 'after' })
  go.give()
  await settled
  expect(await client.result(started)).toBe(1)
  expect(await claimsOf(started.id)).toEqual([{ outcome: 'done', attempt: 1 }])
})

test('LEASE-15: a claim on record that its worker does not hold is given back; one it holds, or of another, is not', async () => {
  const entered = signal()
  const go = signal()
  const workflow = defineWorkflow({
    name: 'held and astray',
    lease: '1.5s',
    handler: async (_, run) => {
      entered.give()
      await go.promise
      return run.attempt
    },
  })
  const client = openClient(database)
  const logger = recordingLogger()
  const worker = await startWorker(database, { workflows: [workflow], concurrency: 1, logger })
  const held = await client.start(workflow)
  await entered.promise
  const [astray, others] = await Promise.all([client.start(workflow), client.start(workflow)])
  const session = await connect(database)
  await claim(session, worker.id, [astray.id])
  await claim(session, '00000000-0000-4000-8000-000000000000', [others.id])
  await vi.waitFor(async () => expect(await claimsOf(astray.id)).toEqual([{ outcome: 'released', attempt: 1 }]), 10_000)
  go.give()
  expect(await client.result(held)).toBe(1)
  expect(await claimsOf(held.id)).toEqual([{ outcome: 'done', attempt: 1 }])
  expect(await client.result(astray)).toBe(1)
  expect(await client.get(others)).toMatchObject({ state: 'running' })
  expect(logger.lines.filter(({ message }) => message.includes('given back'))).toHaveLength(1)
})

test('LEASE-11: a process that was itself too late, with nobody about to take over, counts the attempt it lost', async () => {
  const module = new URL('forked-workflows.ts', import.meta.url)
  const blocked = await forkWorker(database, { module, concurrency: 1 })
  const client = openClient(database)
  const started = await client.start(burnsAndStays)
  expect(await client.result(started)).toBe(2)
  expect(blocked.isAlive).toBe(true)
  expect(await claimsOf(started.id)).toMatchObject([{ attempt: 1 }, { outcome: 'done', attempt: 2 }])
})
