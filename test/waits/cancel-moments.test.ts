import { expect, test, vi } from 'vitest'
import { defineWorkflow, RunCancelledError, type Client, type Run, type RunRef } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const isDeaf = isPointless('no-notify', 'without NOTIFY a worker hears of a cancel when it renews')

/** What a test does at the moment at which the run is to be cancelled. */
interface Moment {
  /** Called by the handler: tells the test that the moment has come, and waits until it was cancelled. */
  readonly now: () => Promise<void>
  readonly client: Client
}

const child = defineWorkflow({ name: 'child', handler: (_, run) => run.waitFor('never') })

/** Each handler comes to its moment, and to a step after it. */
const inside: Readonly<Record<string, (run: Run, moment: Moment) => Promise<unknown>>> = {
  'in a step': (run, { now }) => run.step('step', now),
  'in a transaction': (run, { now }) => run.transaction('tx', now),
  'between steps': (_, { now }) => now(),
  'before a sleep': async (run, { now }) => {
    await now()
    await run.sleep('hour', '1h')
  },
  'before a wait': async (run, { now }) => {
    await now()
    await run.waitFor('word')
  },
  'before a child': async (run, { now }) => {
    await now()
    await run.call(child)
  },
  'in a step beside a sleep': (run, { now }) => Promise.all([run.sleep('hour', '1h'), run.step('step', now)]),
  'in one of two steps': (run, { now }) => Promise.race([run.step('step', now), run.step('other', now)]),
  'in a step whose failure is caught': (run, { now }) =>
    run
      .step('step', async () => {
        await now()
        throw new Error('after the cancel')
      })
      .catch(() => undefined),
}

test.skipIf(isDeaf).each(Object.entries(inside))(
  'RUN-13: a run that is cancelled %s ends cancelled, and no later step begins',
  async (name, act) => {
    const client = openClient(database)
    const [reached, go] = [signal(), signal()]
    const later: string[] = []
    const over = signal()
    const workflow = defineWorkflow({
      name: `cancelled ${name}`,
      handler: async (_, run) => {
        const now = async (): Promise<void> => {
          reached.give()
          await go.promise
        }
        try {
          await run.step('before', () => 1)
          await act(run, { now, client })
          await run.step('later', () => later.push('later'))
        } finally {
          await run.step('finally', () => later.push('finally')).catch(() => undefined)
          over.give()
        }
      },
    })
    await startWorker(database, { workflows: [workflow, child] })
    const started = await client.start(workflow)
    await reached.promise
    await client.cancel(started)
    go.give()
    await over.promise
    await expectCancelled(client, started)
    expect(later).toEqual([])
  },
)

const suspended: Readonly<
  Record<string, readonly [(run: Run) => Promise<unknown>, (client: Client, id: string) => unknown]>
> = {
  'in a sleep': [(run) => run.sleep('hour', '1h'), () => undefined],
  'as its sleep ends': [(run) => run.sleep('hour', '1h'), (_, id) => letPass(database, id, '1 hour')],
  'in a wait': [(run) => run.waitFor('word'), () => undefined],
  'as a signal comes': [(run) => run.waitFor('word'), (client, id) => client.signal(id, 'word', 1)],
  'as its wait times out': [
    (run) => run.waitFor('word', { timeout: '1h' }).catch(() => 'late'),
    (_, id) => letPass(database, id, '1 hour'),
  ],
  'while a child runs': [(run) => run.call(child), () => undefined],
}

test.each(Object.entries(suspended))(
  'RUN-13: a run that is cancelled %s ends cancelled, and nothing of it begins after',
  async (name, [act, meanwhile]) => {
    const client = openClient(database)
    const later: string[] = []
    const workflow = defineWorkflow({
      name: `cancelled ${name}`,
      handler: async (_, run) => {
        await act(run)
        await run.step('later', () => later.push('later'))
      },
    })
    const worker = await startWorker(database, { workflows: [workflow, child] })
    const started = await client.start(workflow)
    await becomes(client, started, 'suspended')
    // Both are pending when the next worker looks.
    await worker.stop()
    await meanwhile(client, started.id)
    await client.cancel(started)
    await startWorker(database, { workflows: [workflow, child] })
    await expectCancelled(client, started)
    const bystander = await client.start(child)
    await becomes(client, bystander, 'suspended')
    expect(later).toEqual([])
  },
)

async function expectCancelled(client: Client, run: RunRef): Promise<void> {
  await expect(client.result(run)).rejects.toBeInstanceOf(RunCancelledError)
  const { rows } = await database.query('select key from holdfast.steps where run_id = $1 and key <> $2', [
    run.id,
    'before',
  ])
  expect(rows).toEqual([])
  await vi.waitFor(async () => {
    const { rows: children } = await database.query(
      `select from holdfast.runs where parent_id = $1 and ended_at is null`,
      [run.id],
    )
    expect(children).toEqual([])
  }, 15_000)
}

test.skipIf(isDeaf)('RUN-13: a run whose handler wraps the error of its cancel is cancelled all the same', async () => {
  const client = openClient(database)
  const [entered, thrown] = [signal(), signal<unknown>()]
  const wraps = defineWorkflow({
    name: 'wraps',
    handler: async (_, run) => {
      try {
        await run.step('long', async () => {
          entered.give()
          await new Promise(() => undefined)
        })
      } catch (cause) {
        thrown.give(cause)
        throw new Error('something of my own', { cause })
      }
    },
  })
  await startWorker(database, { workflows: [wraps] })
  const started = await client.start(wraps)
  await entered.promise
  await client.cancel(started, { reason: 'enough' })
  expect(await thrown.promise).toBeInstanceOf(RunCancelledError)
  await expect(client.result(started)).rejects.toThrow('enough')
  expect(await client.get(started)).toMatchObject({ state: 'cancelled', failure: undefined, lastError: undefined })
})

test.skipIf(isDeaf)('RUN-14: a retry of a run that was cancelled in a step runs that step again', async () => {
  const client = openClient(database)
  const entered = signal()
  const bodies: string[] = []
  const steps = defineWorkflow({
    name: 'steps',
    handler: async (_, run) => {
      const one = await run.step('one', () => bodies.push('one'))
      await run.step('two', async (step) => {
        bodies.push('two')
        entered.give()
        if (bodies.length === 2) await new Promise((_done, reject) => onAbort(step.abortSignal, reject))
      })
      return one
    },
  })
  await startWorker(database, { workflows: [steps] })
  const started = await client.start(steps)
  await entered.promise
  await client.cancel(started)
  await client.retry(started)
  expect(await client.result(started)).toBe(1)
  expect(bodies).toEqual(['one', 'two', 'two'])
})

function onAbort(abortSignal: AbortSignal, reject: (reason: unknown) => void): void {
  abortSignal.addEventListener('abort', () => reject(abortSignal.reason))
}
