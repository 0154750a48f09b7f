/** Holdfast with two workflows that wait: `sleeper` for a time, `listener` for a signal. For the waits suite. */
import type { Duration, Run, RunRef } from '../../src/index.ts'
import { anyInput, loadBuilt, quiet } from './holdfast.ts'
import type { HandlerCalls, Load, WorkerSide } from './peer.ts'

interface Input {
  readonly i: number
}

interface SleeperInput extends Input {
  readonly sleep: Duration
}

const ignored: Pick<HandlerCalls, 'begun' | 'finished'> = {
  begun() {},
  finished() {},
}

/** They say that they have begun when what they waited for is over. */
async function workflowsOf({ begun, finished }: Pick<HandlerCalls, 'begun' | 'finished'>) {
  const { defineWorkflow } = await loadBuilt()
  const sleeper = defineWorkflow({
    name: 'sleeper',
    input: anyInput<SleeperInput>(),
    handler: async ({ i, sleep }: SleeperInput, run: Run) => {
      await run.sleep('nap', sleep)
      begun(i)
      finished()
      return { ok: true, i }
    },
  })
  const listener = defineWorkflow({
    name: 'listener',
    input: anyInput<Input>(),
    handler: async ({ i }: Input, run: Run) => {
      await run.waitFor('go')
      begun(i)
      finished()
      return { ok: true, i }
    },
  })
  return { sleeper, listener }
}

export interface WaitsClient {
  sleep(i: number, sleep: Duration): Promise<RunRef>
  listen(i: number): Promise<RunRef>
  /** Sends what listeners wait for. */
  go(run: RunRef): Promise<void>
  result(run: RunRef): Promise<unknown>
  close(): Promise<void>
}

/** Migrates the database if it is empty, and connects. */
export async function openWaits(connectionString: string): Promise<WaitsClient> {
  const { createClient } = await loadBuilt()
  const { sleeper, listener } = await workflowsOf(ignored)
  const client = createClient({ connectionString })
  // The first call of a client migrates, whatever it asks.
  await client.get(crypto.randomUUID())
  return {
    sleep: (i, sleep) => client.start(sleeper, { i, sleep }),
    listen: (i) => client.start(listener, { i }),
    go: (run) => client.signal(run, 'go', { ok: true }),
    result: (run) => client.result(run),
    close: () => client.close(),
  }
}

export const waits: WorkerSide = {
  async prepareWorker() {
    await loadBuilt()
  },

  async startWorker({ connectionString, slots }: Load, calls) {
    const { createWorker } = await loadBuilt()
    const worker = createWorker({
      connectionString,
      workflows: Object.values(await workflowsOf(calls)),
      concurrency: slots,
      logger: quiet,
    })
    await worker.start()
    return { stop: () => worker.stop() }
  },
}
