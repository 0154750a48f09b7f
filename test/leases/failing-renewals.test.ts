import { expect, inject, test, vi } from 'vitest'
import pg from 'pg'
import { Execution } from '../../src/execute/execution.ts'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { noPast } from '../../src/model/claim.ts'
import type { Journal } from '../../src/model/journal.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { untraced, untracedClaim } from '../../src/trace/untraced.ts'
import { HeldLease } from '../../src/worker/held-lease.ts'
import { Leases } from '../../src/worker/leases.ts'
import { Slots } from '../../src/worker/slots.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { fastTimings, openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const leaseMs = 1_500

const journal: Journal = {
  memos: [],
  tries: [],
  keep: (memo) => Promise.resolve(memo),
  transact: (body) => body({ query: () => Promise.resolve({ rows: [] }) }),
  open: () => new Promise(() => undefined),
  progress: () => undefined,
}

const claim = {
  id: '00000000-0000-7000-8000-000000000000',
  token: 1,
  workflow: 'renewed',
  key: undefined,
  group: undefined,
  isLimited: false,
  attempt: 1,
  maxAttempts: 1,
  metadata: {},
  leaseUntil: new Date(leaseMs),
  deadlineMs: undefined,
  input: { json: 'null', types: null },
  memos: [],
  tries: [],
  retries: 0,
  undone: undefined,
  past: noPast,
}

interface Course {
  readonly abortedAt: number | undefined
  readonly lastAcceptedAt: number
}

/** Holds one claim for five seconds, while renewals fail whenever `isFailing` says so, and take so long to be answered. */
async function hold(isFailing: (at: number) => boolean, answerMs = 0): Promise<Course> {
  const clock = new HandClock()
  const slots = new Slots()
  let abortedAt: number | undefined
  let lastAcceptedAt = 0
  const { definition } = defineWorkflow({
    name: 'renewed',
    handler: (_, run: Run) => {
      run.abortSignal.addEventListener('abort', () => (abortedAt = clock.monotonic()))
      return new Promise<void>(() => undefined)
    },
  })
  const lease = new HeldLease({
    claim,
    leaseMs,
    giveUpAfter: fastTimings.giveUpAfter,
    sentAt: 0,
    clock,
    extend: () => Promise.reject(new Error('Nobody asks for that.')),
  })
  const execution = new Execution({ definition, claim, journal, lease, clock, log: silentLogger, trace: untracedClaim })
  slots.put({ claim, execution, lease })
  const leases = new Leases({
    slots,
    renew: async ([item]) => {
      const sentAt = clock.monotonic()
      if (answerMs > 0) await clock.sleep(answerMs)
      else await Promise.resolve()
      if (isFailing(sentAt)) throw new Error('The database is not there.')
      lastAcceptedAt = sentAt
      return [{ id: item!.id, token: item!.token, problem: null, lease_until_ms: sentAt + leaseMs }]
    },
    isKnown: () => true,
    onStray: () => undefined,
    leaseMs,
    timings: fastTimings,
    clock,
    log: silentLogger,
    meters: untraced.meters,
  })
  void execution.run()
  await leases.start()
  while (abortedAt === undefined && clock.monotonic() < 5_000) await clock.advance(10)
  const stopped = leases.stop()
  await clock.advance(answerMs)
  await stopped
  return { abortedAt, lastAcceptedAt }
}

test('LEASE-08: 0.8 s of failing renewals abort nothing in a lease of 1.5 s, whenever they begin to fail', async () => {
  for (let from = 0; from < 1_000; from += 20) {
    const { abortedAt } = await hold((at) => at >= from && at < from + 800)
    expect({ from, abortedAt }).toEqual({ from, abortedAt: undefined })
  }
})

test('LEASE-08: a claim whose renewals all fail is stopped before its lease ends, and not long before', async () => {
  for (let from = 0; from < 1_000; from += 50) {
    const { abortedAt = Infinity, lastAcceptedAt } = await hold((at) => at >= from)
    expect(abortedAt - lastAcceptedAt).toBeLessThan(leaseMs)
    expect(abortedAt - lastAcceptedAt).toBeGreaterThanOrEqual(0.9 * leaseMs)
  }
})

test('LEASE-08: an answer that comes late makes no lease longer: it counts from when it was asked for', async () => {
  for (let from = 600; from < 2_000; from += 100) {
    const { abortedAt = Infinity, lastAcceptedAt } = await hold((at) => at >= from, 300)
    expect(abortedAt - lastAcceptedAt).toBeLessThan(leaseMs)
  }
})

/** A session that can say whether others may connect to the database; those that are there go on either way. */
async function openGate(): Promise<{ set: (isOpen: boolean) => Promise<unknown>; close: () => Promise<void> }> {
  const admin = new pg.Client({ connectionString: inject('testServer').connectionString })
  await admin.connect()
  return {
    set: (isOpen) => admin.query(`alter database ${database.name} allow_connections ${isOpen}`),
    close: () => admin.end(),
  }
}

test('LEASE-08: a worker that cannot reach the database for 0.8 s of a lease of 1.5 s keeps its claims', async () => {
  const [entered, go] = [signal(), signal()]
  const attempts: number[] = []
  const workflow = defineWorkflow({
    name: 'cut off',
    lease: '1.5s',
    handler: async (_, run) => {
      attempts.push(run.attempt)
      entered.give()
      await go.promise
      return await run.step('last', () => run.abortSignal.aborted)
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const started = await client.start(workflow)
  await entered.promise
  const [session, gate] = [await connect(database), await openGate()]
  const leaseUntil = async (): Promise<unknown> => (await client.get(started))?.leaseUntil
  const atFirst = await leaseUntil()
  await vi.waitFor(async () => expect(await leaseUntil()).not.toEqual(atFirst), 10_000)

  await gate.set(false)
  await session.query(
    `select pg_terminate_backend(pid), pg_sleep(0.8) from pg_stat_activity
     where datname = current_database() and application_name = 'holdfast leases'`,
  )
  await gate.set(true)
  const lastOfBefore = await leaseUntil()
  await vi.waitFor(async () => expect(await leaseUntil()).not.toEqual(lastOfBefore), 10_000)
  go.give()
  expect(await client.result(started)).toBe(false)
  expect(attempts).toEqual([1])
  await gate.close()
})
