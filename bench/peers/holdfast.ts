/** Holdfast through its public surface, as built: what is measured is what is shipped. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type * as Holdfast from '../../src/index.ts'
import { count, inLanes, stepBody, type HandlerCalls, type Load, type TimedPeer } from './peer.ts'

interface Input {
  readonly i: number
}

const built = new URL('../../dist/index.js', import.meta.url).href

/** As many starts at once as fill every batch that may be in flight. */
const startLanes = 1000

/** Gives the input its type and costs nothing: the other peers validate nothing either. */
export function anyInput<T>(): StandardSchemaV1<T> {
  return { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value: value as T }) } }
}

const ignore = (): void => {}

export const quiet: Holdfast.Logger = { debug: ignore, info: ignore, warn: console.error, error: console.error }

export function loadBuilt(): Promise<typeof Holdfast> {
  return import(built)
}

type Calls = Pick<HandlerCalls, 'begun' | 'finished'>

export async function openedWorkflow({ steps }: Load, { begun, finished }: Calls): Promise<Holdfast.Workflow<Input>> {
  const { defineWorkflow } = await loadBuilt()
  return defineWorkflow({
    name: 'bench',
    input: anyInput<Input>(),
    handler: async ({ i }, run) => {
      begun(i)
      for (let step = 0; step < steps; step++) await run.step(`step ${step}`, () => stepBody(i, step))
      finished()
      return { ok: true, i }
    },
  })
}

async function openHoldfast(load: Load) {
  const { createClient } = await loadBuilt()
  const workflow = await openedWorkflow(load, { begun: ignore, finished: ignore })
  const client = createClient({ connectionString: load.connectionString })
  // The first call of a client migrates, whatever it asks.
  await client.get(crypto.randomUUID())
  return { client, workflow }
}

export const holdfast: TimedPeer = {
  async openClient(load) {
    const { client, workflow } = await openHoldfast(load)
    return {
      enqueue: () => inLanes(load.runs, startLanes, (i) => client.start(workflow, { i })),
      close: () => client.close(),
    }
  },

  async openStarter(load) {
    const { client, workflow } = await openHoldfast(load)
    return {
      start: async (i) => {
        const started = await client.start(workflow, { i })
        return () => client.result(started)
      },
      close: () => client.close(),
    }
  },

  async prepareWorker() {
    await loadBuilt()
  },

  async startWorker(load, calls) {
    const { createWorker } = await loadBuilt()
    const worker = createWorker({
      connectionString: load.connectionString,
      workflows: [await openedWorkflow(load, calls)],
      concurrency: load.slots,
      logger: quiet,
    })
    await worker.start()
    return { stop: () => worker.stop() }
  },

  async countDone(database) {
    return count(database, `select count(*) from holdfast.runs where state = 'done'`)
  },

  async countSteps(database) {
    return count(database, 'select count(*) from holdfast.steps')
  },
}
