// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import type {
  CancelOptions,
  Client,
  FailureCause,
  Holder,
  Info,
  ListFilter,
  Page,
  Queryable,
  Reason,
  ResultOptions,
  RetryOptions,
  RunRef,
  RunView,
  Started,
  StartedOrError,
  StartManyItem,
  StartManyOptions,
  State,
  WatchOptions,
  Which,
  Why,
  WorkerInfo,
  Workflow,
  WorkflowInfo,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const client: Client
declare const tx: Queryable
declare const signal: AbortSignal

const welcome = defineWorkflow({
  name: 'welcome',
  input: z.object({ email: z.email() }),
  handler: ({ email }) => ({ userId: email }),
})
const bare = defineWorkflow({ name: 'bare', handler: () => 7 })
interface Welcomed {
  userId: string
}

// start knows the output
const starting = client.start(welcome, { email: 'a@b.c' }, { key: 'k', tx })
expectType<Equal<typeof starting, Promise<Started<Welcomed>>>>()
const bareStarting = client.start(bare)
expectType<Equal<typeof bareStarting, Promise<Started<number>>>>()
declare const started: Started<Welcomed>
expectType<Equal<typeof started.created, boolean>>()
expectType<Equal<typeof started.state, State>>()
// @ts-expect-error -- the input is missing
void client.start(welcome)
// @ts-expect-error -- of another type
void client.start(welcome, { email: 7 })
// @ts-expect-error -- no such option
void client.start(bare, undefined, { queue: 'slow' })
// @ts-expect-error -- a workflow, not its name
void client.start('welcome', { email: 'a@b.c' })
// @ts-expect-error -- read only
started.id = 'other'

// startMany: all of them, or each for itself
const items: StartManyItem<{ email: string }>[] = [{ input: { email: 'a@b.c' }, key: 'k', delay: '1h' }]
const all = client.startMany(welcome, items)
expectType<Equal<typeof all, Promise<Started<Welcomed>[]>>>()
const together = client.startMany(welcome, items, { mode: 'all', tx })
expectType<Equal<typeof together, Promise<Started<Welcomed>[]>>>()
const each = client.startMany(welcome, items, { mode: 'each', tx })
expectType<Equal<typeof each, Promise<StartedOrError<Welcomed>[]>>>()
expectType<Equal<StartedOrError<1>, Started<1> | { readonly error: Error }>>()
const options: StartManyOptions = { mode: 'each', tx: undefined }
void options
void client.startMany(bare, [{}, { input: undefined, priority: 1 }])
// @ts-expect-error -- a workflow without an input takes none
void client.startMany(bare, [{ input: 1 }])
// @ts-expect-error -- of another type
void client.startMany(welcome, [{ input: { email: 7 } }])
// @ts-expect-error -- the input is missing
void client.startMany(welcome, [{ key: 'k' }])
// @ts-expect-error -- the input itself is no item
void client.startMany(welcome, [{ email: 'a@b.c' }])
// @ts-expect-error -- items have no transaction of their own
void client.startMany(welcome, [{ input: { email: 'a@b.c' }, tx }])
// @ts-expect-error -- no such mode
void client.startMany(welcome, items, { mode: 'some' })
// @ts-expect-error -- the answers are not all started
const notAll: Promise<Started<Welcomed>[]> = client.startMany(welcome, items, { mode: 'each' })
void notAll

// what names a run
const whiches: Which[] = [
  'id',
  started,
  { id: 'id' },
  { workflow: welcome, key: 'k' },
  { workflow: 'welcome', key: 'k' },
]
const ref: RunRef<Welcomed> = started
void whiches
// @ts-expect-error -- a workflow alone names no run
const noKey: Which = { workflow: welcome }
// @ts-expect-error -- nor does a number
const noId: Which = 7
void [noKey, noId]

// result knows the output of what names it
const byRef = client.result(ref)
expectType<Equal<typeof byRef, Promise<Welcomed>>>()
const byKey = client.result({ workflow: welcome, key: 'k' }, { timeout: '1m', abortSignal: signal })
expectType<Equal<typeof byKey, Promise<Welcomed>>>()
const byId = client.result('id')
expectType<Equal<typeof byId, Promise<unknown>>>()
const resultOptions: ResultOptions = { timeout: undefined, abortSignal: undefined }
void client.result('id', resultOptions)
// @ts-expect-error -- a signal, not its controller
void client.result('id', { abortSignal: new AbortController() })
// @ts-expect-error -- no such option
void client.result('id', { timeoutMs: 5 })

// get and what it shows
const got = client.get(started)
expectType<Equal<typeof got, Promise<RunView | undefined>>>()
declare const view: RunView
expectType<Equal<typeof view.key, string | undefined>>()
expectType<Equal<typeof view.output, unknown>>()
expectType<Equal<typeof view.failure, FailureCause | undefined>>()
expectType<Equal<typeof view.lastError, Error | undefined>>()
expectType<Equal<typeof view.endedAt, Date | undefined>>()
expectType<Equal<typeof view.metadata, Readonly<Record<string, string>>>>()
// @ts-expect-error -- read only
view.state = 'done'
// @ts-expect-error -- not every run has ended
const endedAt: Date = view.endedAt
void endedAt
type States = 'scheduled' | 'waiting' | 'running' | 'suspended' | 'done' | 'failed' | 'cancelled'
expectType<Equal<State, States>>()

// list
const filter: ListFilter = {
  workflow: [welcome, 'bare'],
  state: ['failed', 'cancelled'],
  keyPrefix: 'a',
  group: 'g',
  createdAfter: new Date(),
  createdBefore: new Date(),
  metadata: { from: 'sign-up' },
  limit: 10,
  cursor: undefined,
}
const listed = client.list(filter)
expectType<Equal<typeof listed, Promise<Page<RunView>>>>()
expectType<Equal<Page<1>, { readonly items: readonly 1[]; readonly cursor: string | undefined }>>()
void client.list()
void client.list({ workflow: welcome, state: 'done' })
// @ts-expect-error -- no such state
void client.list({ state: 'ended' })
// @ts-expect-error -- a Date, not its text
void client.list({ createdAfter: '2030-01-01' })
// @ts-expect-error -- no such filter
void client.list({ key: 'k' })

// watch
const watched = client.watch(started, { abortSignal: signal })
expectType<Equal<typeof watched, AsyncGenerator<RunView, void, undefined>>>()
const watchOptions: WatchOptions = {}
void client.watch({ workflow: 'welcome', key: 'k' }, watchOptions)
// @ts-expect-error -- it has no time limit
void client.watch(started, { timeout: '1m' })

// cancel, retry, delete, info, close
const cancelOptions: CancelOptions = { reason: 'enough', tx }
const cancelled = client.cancel(started, cancelOptions)
expectType<Equal<typeof cancelled, Promise<RunView>>>()
// @ts-expect-error -- its options have names
void client.cancel(started, 'enough')
const retryOptions: RetryOptions = { fresh: true }
const retried = client.retry(started, retryOptions)
expectType<Equal<typeof retried, Promise<RunView>>>()
// @ts-expect-error -- it commits by itself
void client.retry(started, { tx })
const deleted = client.delete('id')
expectType<Equal<typeof deleted, Promise<boolean>>>()
// @ts-expect-error -- one at a time
void client.delete(['id'])
const info = client.info()
expectType<Equal<typeof info, Promise<Info>>>()
expectType<Equal<Info['workers'], readonly WorkerInfo[]>>()
expectType<Equal<Info['workflows'], readonly WorkflowInfo[]>>()
expectType<Equal<WorkerInfo['slots' | 'running'], number>>()
expectType<Equal<WorkflowInfo['oldestWaitingAt'], Date | undefined>>()
const closing = client.close()
expectType<Equal<typeof closing, Promise<void>>>()

// a client has no way to run what it starts
// @ts-expect-error -- that is a worker's
void client.stop()
declare const anyWorkflow: Workflow
const anyStarted = client.start(anyWorkflow, { whatever: 1 })
expectType<Equal<typeof anyStarted, Promise<Started<unknown>>>>()

const why = client.why('id')
expectType<Equal<typeof why, Promise<Why>>>()
expectType<Equal<Why['reasons'], readonly Reason[]>>()
expectType<Equal<Extract<Reason, { kind: 'concurrency' }>['holders'], readonly Holder[]>>()
expectType<Equal<Extract<Reason, { kind: 'rate' }>['opensAt'], Date>>()
// @ts-expect-error -- a run is named by a text, a reference or a key
void client.why(7)
expectType<Equal<RunView['ahead'], number | undefined>>()
