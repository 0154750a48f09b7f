/**
 * Holdfast with two workflows that both do nothing: `limited`, whose groups let one run at a time begin, and `free`, which
 * has neither groups nor limits. For the limits suite.
 */
import { anyInput, loadBuilt, quiet } from './holdfast.ts'
import { inChunks, type HandlerCalls, type Load, type PeerClient, type WorkerSide } from './peer.ts'

interface Input {
  readonly i: number
  readonly group: string
}

const startsAtOnce = 1000

const ignored: HandlerCalls = {
  begun() {},
  finished() {},
  async gate() {},
}

async function workflowsOf({ limited }: Load, { begun, finished, gate }: HandlerCalls) {
  const { defineWorkflow } = await loadBuilt()
  const gateEvery = limited?.gateEvery
  return (limited?.workflows ?? []).map((name) =>
    defineWorkflow({
      name,
      input: anyInput<Input>(),
      ...(name === 'limited' && { group: ({ group }: Input) => group, concurrency: { perGroup: 1 } }),
      handler: async ({ i }) => {
        begun(i)
        if (gateEvery !== undefined && i % gateEvery === 0) await gate(i)
        finished()
        return { ok: true, i }
      },
    }),
  )
}

export interface LimitedClient extends PeerClient {
  /** Starts runs with these numbers in one group. They are to begin in this order. */
  startIn(group: string, numbers: readonly number[]): Promise<void>
}

/** Migrates the database if it is empty, and connects. */
export async function openLimited(load: Load): Promise<LimitedClient> {
  const { createClient } = await loadBuilt()
  const [workflow] = await workflowsOf(load, ignored)
  if (!workflow) throw new Error('There is no workflow whose runs could be started.')
  const client = createClient({ connectionString: load.connectionString })
  // The first call of a client migrates, whatever it asks.
  await client.get(crypto.randomUUID())
  const groups = load.limited?.groups ?? 1
  const startAll = (inputs: readonly Input[]) =>
    client.startMany(
      workflow,
      inputs.map((input) => ({ input })),
    )
  return {
    enqueue: () =>
      inChunks(load.runs, startsAtOnce, 1, (numbers) =>
        startAll(numbers.map((i) => ({ i, group: `group ${i % groups}` }))),
      ),
    startIn: (group, numbers) =>
      inChunks(numbers.length, startsAtOnce, 1, (places) =>
        startAll(places.map((place) => ({ i: numbers[place] ?? 0, group }))),
      ),
    close: () => client.close(),
  }
}

export const limited: WorkerSide = {
  async prepareWorker() {
    await loadBuilt()
  },

  async startWorker(load, calls) {
    const { createWorker } = await loadBuilt()
    const worker = createWorker({
      connectionString: load.connectionString,
      workflows: await workflowsOf(load, calls),
      concurrency: load.slots,
      logger: quiet,
    })
    await worker.start()
    return { stop: () => worker.stop() }
  },
}
