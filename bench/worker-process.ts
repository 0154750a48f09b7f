/** The one worker process of a round. It loads its peer first, so that module loading is in nobody's figures. */
import { workerSides, type WorkerName } from './peers/index.ts'
import { instant } from './instant.ts'
import { residentBytes } from './measure.ts'
import type { Load, PeerWorker } from './peers/peer.ts'

export type Command =
  | { readonly type: 'load'; readonly peer: WorkerName; readonly load: Load }
  | { readonly type: 'start' }
  | { readonly type: 'cpu' }
  | { readonly type: 'memory' }
  | { readonly type: 'begun' }
  | { readonly type: 'open'; readonly gates: readonly number[]; readonly until: number }
  | { readonly type: 'stop' }

export type Report =
  | { readonly type: 'loaded' }
  | { readonly type: 'started' }
  | { readonly type: 'finished' }
  | { readonly type: 'cpu'; readonly ms: number }
  | { readonly type: 'memory'; readonly bytes: number }
  | { readonly type: 'begun'; readonly instants: Readonly<Record<number, number>> }
  | { readonly type: 'reached' }
  | { readonly type: 'failed'; readonly error: string }

let given: { readonly peer: WorkerName; readonly load: Load } | undefined
let worker: PeerWorker | undefined
let finishedCount = 0
/** When each run's handler was first called. Told when it is all over: a message in between would be in the figures. */
const begunAt = new Map<number, number>()
/** The handlers that wait at a gate, by run, and how many ever did. */
const gates = new Map<number, () => void>()
let reachedCount = 0
let awaitedCount: number | undefined

function report(message: Report): void {
  process.send?.(message)
}

function begun(run: number): void {
  if (!begunAt.has(run)) begunAt.set(run, instant())
}

function finished(): void {
  finishedCount++
  if (finishedCount === given?.load.runs) report({ type: 'finished' })
}

function gate(run: number): Promise<void> {
  return new Promise((resolve) => {
    gates.set(run, resolve)
    reachedCount++
    tellReached()
  })
}

function tellReached(): void {
  if (reachedCount === awaitedCount) report({ type: 'reached' })
}

const obey: { readonly [Type in Command['type']]: (command: Extract<Command, { type: Type }>) => Promise<void> } = {
  async load(command) {
    given = command
    await workerSides[command.peer].prepareWorker?.()
    report({ type: 'loaded' })
  },
  async start() {
    if (given) worker = await workerSides[given.peer].startWorker(given.load, { begun, finished, gate })
    report({ type: 'started' })
  },
  async cpu() {
    const { user, system } = process.cpuUsage()
    report({ type: 'cpu', ms: (user + system) / 1000 })
  },
  async memory() {
    report({ type: 'memory', bytes: await residentBytes() })
  },
  async begun() {
    report({ type: 'begun', instants: Object.fromEntries(begunAt) })
  },
  async open(command) {
    awaitedCount = command.until
    for (const run of command.gates) gates.get(run)?.()
    tellReached()
  },
  async stop() {
    await worker?.stop()
    process.exit(0)
  },
}

function fail(error: unknown): void {
  report({ type: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

process.on('message', (command: Command) => {
  const act = obey[command.type] as (command: Command) => Promise<void>
  act(command).catch(fail)
})
process.on('disconnect', () => process.exit(1))
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
