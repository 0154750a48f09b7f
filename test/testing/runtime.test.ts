import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { buryWorkers, sweepPass } from '../../src/db/calls.ts'
import { createWorker, defineWorkflow, EndlessError } from '../../src/index.ts'
import { Database } from '../../src/db/database.ts'
import { systemClock } from '../../src/model/clock.ts'
import { TestClock } from '../../src/testing/test-clock.ts'
import { TestTime } from '../../src/testing/test-time.ts'
import { signal } from '../support/worker.ts'
import { useRuntime } from './use-runtime.ts'

const day = 86_400_000

/** Within a minute: the real time that a test takes goes on as well. */
function expectAfter(from: Date, to: Date, ms: number): void {
  expect(to.getTime() - from.getTime()).toBeGreaterThanOrEqual(ms - 1)
  expect(to.getTime() - from.getTime()).toBeLessThan(ms + 60_000)
}

const when = defineWorkflow({ name: 'when', handler: (_, run) => run.now() })

/** Starts another of its kind once it has run, `left` times, each `every` after the one before. */
const chain = defineWorkflow({
  name: 'chain',
  handler: async (_, run) => {
    const polls = polled.get(run.id) ?? []
    polled.set(run.id, [...polls, await now()])
    return polls.length < 2 ? run.snooze('5d') : polls.length
  },
})
const polled = new Map<string, Date[]>()

const steady = defineWorkflow({ name: 'steady', maxAttempts: 100, handler: (_, run) => run.snooze('1h') })

const retried = defineWorkflow({
  name: 'retried',
  retry: { initial: '1d', jitter: 0 },
  maxAttempts: 3,
  handler: async (_, run) => {
    if (run.attempt < 3) throw new Error('not yet')
    return await run.now()
  },
})

const stepwise = defineWorkflow({
  name: 'stepwise',
  handler: async (_, run) => {
    const flaky = (until: number) => (step: { readonly try: number }) => {
      if (step.try < until) throw new Error('busy')
      return step.try
    }
    const soon = await run.step('soon', flaky(3), { retry: { initial: '4s', maxTries: 3 } })
    const later = await run.step('later', flaky(2), { retry: { initial: '3h', jitter: 0, maxTries: 2 } })
    return { soon, later, at: await run.now() }
  },
})

const bounded = defineWorkflow({
  name: 'bounded',
  deadline: '1d',
  handler: (_, run) => run.snooze('10d'),
})

const rated = defineWorkflow({ name: 'rated', rate: { limit: 1, per: '1h' }, handler: (_, run) => run.now() })

const runtime = useRuntime({ workflows: [when, chain, steady, retried, stepwise, bounded, rated] })
const now = (): Promise<Date> => runtime().now()

describe('advance', () => {
  test('lets each run begin at its own time, and none that is due later', async () => {
    const { client } = runtime()
    const from = await now()
    const late = await client.start(when, undefined, { delay: '20d' })
    const early = await client.start(when, undefined, { delay: '10d' })
    const never = await client.start(when, undefined, { delay: '40d' })
    await runtime().advance('30d')
    expectAfter(from, await client.result(early), 10 * day)
    expectAfter(from, await client.result(late), 20 * day)
    expectAfter(from, await now(), 30 * day)
    expect((await client.get(never))?.state).toBe('scheduled')
    await client.cancel(never)
  })

  test('lets what a run plans from its own time be in time too', async () => {
    const { client } = runtime()
    const from = await now()
    const started = await client.start(chain, undefined, { delay: '10d' })
    await runtime().advance('30d')
    expect(await client.result(started)).toBe(2)
    const [first, second, third] = polled.get(started.id) ?? []
    expectAfter(from, first ?? from, 10 * day)
    expectAfter(from, second ?? from, 15 * day)
    expectAfter(from, third ?? from, 20 * day)
  })

  test('counts waits between attempts and between the tries of a step', async () => {
    const { client } = runtime()
    const from = await now()
    const attempts = await client.start(retried)
    const tries = await client.start(stepwise)
    await runtime().advance('1h')
    expect((await client.get(attempts))?.state).toBe('scheduled')
    expect((await client.get(tries))?.state).toBe('suspended')
    await runtime().advance('7d')
    expectAfter(from, await client.result(attempts), 2 * day)
    const { at, ...counts } = await client.result(tries)
    expect(counts).toEqual({ soon: 3, later: 2 })
    expectAfter(from, at, day / 8)
  })

  test('ends a run at its deadline, not when it would have gone on', async () => {
    const { client } = runtime()
    const from = await now()
    const started = await client.start(bounded)
    await runtime().advance('30d')
    const view = await client.get(started)
    expect(view).toMatchObject({ state: 'failed', failure: 'deadline' })
    expectAfter(from, view?.endedAt ?? from, day)
  })

  test('lets a rate admit runs one after the other', async () => {
    const { client } = runtime()
    const from = await now()
    const started = await client.startMany(rated, [{ input: undefined }, { input: undefined }, { input: undefined }])
    await runtime().advance('3h')
    const times = await Promise.all(started.map((each) => client.result(each)))
    for (const [index, at] of times.toSorted((a, b) => a.getTime() - b.getTime()).entries()) {
      expectAfter(from, at, index * 3_600_000)
    }
  })

  test('neither removes what has ended nor frees a key before its time', async () => {
    const { client } = runtime()
    const started = await client.start(when, undefined, { key: 'once' })
    await runtime().advance('1h')
    expect((await client.start(when, undefined, { key: 'once' })).id).toBe(started.id)
    await runtime().advance('30d')
    expect(await client.result(started)).toBeInstanceOf(Date)
    expect((await client.start(when, undefined, { key: 'once' })).id).not.toBe(started.id)
  })

  test('goes one after the other, however it is called', async () => {
    const from = await now()
    await Promise.all([runtime().advance('1d'), runtime().advance('1d')])
    expectAfter(from, await now(), 2 * day)
  })

  test('refuses what is no time', async () => {
    await expect(runtime().advance('soon')).rejects.toMatchObject({ code: 'DURATION', field: 'duration' })
    await expect(runtime().advance(-1)).rejects.toMatchObject({ code: 'DURATION' })
  })
})

describe('runUntilIdle', () => {
  test('waits for what can go on now, and for nothing else', async () => {
    const { client } = runtime()
    const soon = await client.startMany(
      when,
      Array.from({ length: 40 }, () => ({ input: undefined })),
    )
    const later = await client.start(when, undefined, { delay: '1d' })
    await runtime().runUntilIdle()
    const states = await Promise.all(soon.map(async (each) => (await client.get(each))?.state))
    expect(new Set(states)).toEqual(new Set(['done']))
    expect((await client.get(later))?.state).toBe('scheduled')
  })

  test('skips time until nothing has any', async () => {
    const { client } = runtime()
    const started = [await client.start(when, undefined, { delay: '300d' }), await client.start(chain)]
    await runtime().runUntilIdle({ skipTime: true })
    for (const each of started) expect((await client.get(each))?.state).toBe('done')
  })

  test('gives up on what plans itself for ever', async () => {
    const { client, connectionString } = runtime()
    const database = new Database({ connectionString, clock: systemClock })
    const time = new TestTime(database, new TestClock(), ['steady'], 20)
    const started = await client.start(steady)
    const refused = await time.runUntilIdle(true).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(EndlessError)
    expect(refused).toMatchObject({ code: 'ENDLESS', message: expect.stringContaining('20 times') })
    await client.cancel(started)
    await database.close()
  })

  test('refuses what is no option', async () => {
    const wrong = { skiptime: true } as { skipTime?: boolean }
    await expect(runtime().runUntilIdle(wrong)).rejects.toMatchObject({ code: 'ARGUMENT', field: 'skiptime' })
  })
})

test('a worker beside it and the claims it holds survive a jump', async () => {
  const { client, connectionString } = runtime()
  const gate = signal()
  const begun = signal()
  const held = defineWorkflow({
    name: 'held',
    handler: async (_, run) => {
      begun.give()
      await gate.promise
      return run.attempt
    },
  })
  const worker = createWorker({ connectionString, migrate: 'verify', workflows: [held] })
  await worker.start()
  const started = await client.start(held)
  await begun.promise

  const database = new Database({ connectionString, clock: systemClock })
  const time = new TestTime(database, new TestClock(), [])
  const from = await time.now()
  await time.moveTo(from.getTime() + 30 * day)
  const { at, ...burial } = await buryWorkers(database, randomUUID(), (await time.now()).toISOString())
  expect(burial).toMatchObject({ dead: 0, suspected: 0 })
  expect(await sweepPass(database, 'end_leases', 500, at)).toBe(0)
  expectAfter(from, (await client.get(started))?.leaseUntil ?? from, 30 * day)
  gate.give()
  expect(await client.result(started)).toBe(1)
  await worker.stop()
  await database.close()
})

test('a claim that is held by hand ends with its lease', async () => {
  const { client } = runtime()
  const other = defineWorkflow({ name: 'by hand', maxLease: '2h', handler: () => 1 })
  const started = await client.start(other)
  const [reserved] = await client.reserve({ workflows: ['by hand'], lease: '1h' })
  await runtime().advance('30m')
  expect((await client.get(started))?.state).toBe('running')
  await runtime().advance('31m')
  expect((await client.get(started))?.state).toBe('waiting')
  await expect(client.ack(reserved as NonNullable<typeof reserved>)).rejects.toMatchObject({ code: 'LEASE_LOST' })
})
