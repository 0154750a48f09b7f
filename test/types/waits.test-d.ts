// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineSignal, defineWorkflow } from '../../src/index.ts'
import type {
  ChildOptions,
  Client,
  Directive,
  MapOptions,
  OnMismatch,
  OpenWait,
  Parked,
  ParkOptions,
  Queryable,
  Reason,
  Rollback,
  Run,
  RunRef,
  RunView,
  SendOptions,
  Signal,
  SignalOptions,
  Startable,
  State,
  Step,
  StepOptions,
  UnparkOptions,
  WaitOptions,
  Workflow,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const run: Run
declare const client: Client
declare const tx: Queryable

// defineSignal: what a sender gives goes in, what a handler gets comes out
const schema = z.object({ cents: z.string().transform(Number) })
const paid = defineSignal({ name: 'paid', schema })
expectType<Equal<typeof paid, Signal<{ cents: number }, { cents: string }>>>()
const bare = defineSignal({ name: 'bare' })
expectType<Equal<typeof bare, Signal<unknown, unknown>>>()
expectType<Equal<typeof bare.name, string>>()
const signalOptions: SignalOptions<typeof schema> = { name: 'paid', schema }
void defineSignal(signalOptions)
// @ts-expect-error -- a name is required
void defineSignal({ schema })
// @ts-expect-error -- no schema
void defineSignal({ name: 'x', schema: { cents: 'number' } })
// @ts-expect-error -- no such option
void defineSignal({ name: 'x', payload: schema })
// @ts-expect-error -- read only
paid.name = 'other'

// sleep
const slept = [run.sleep('a day', '1d'), run.sleepUntil('new year', new Date())]
expectType<Equal<typeof slept, Promise<void>[]>>()
// @ts-expect-error -- a name comes first
void run.sleep('1d')
// @ts-expect-error -- a duration, not an instant
void run.sleep('x', new Date())
// @ts-expect-error -- an instant, not its text
void run.sleepUntil('x', '2031-01-01')

// waitFor: by a signal, by its name and a schema, by its name alone
const bySignal = run.waitFor(paid)
expectType<Equal<typeof bySignal, Promise<{ cents: number }>>>()
const inTime = run.waitFor(paid, { timeout: '3d' })
expectType<Equal<typeof inTime, Promise<{ cents: number }>>>()
const untyped = run.waitFor(bare)
expectType<Equal<typeof untyped, Promise<unknown>>>()
const bySchema = run.waitFor('paid', { schema, timeout: undefined })
expectType<Equal<typeof bySchema, Promise<{ cents: number }>>>()
const byName = run.waitFor('paid', { timeout: 50 })
expectType<Equal<typeof byName, Promise<unknown>>>()
const waitOptions: WaitOptions = { timeout: '1m' }
void run.waitFor('paid', waitOptions)
// @ts-expect-error -- for what?
void run.waitFor()
// @ts-expect-error -- no schema
void run.waitFor('paid', { schema: { cents: 'number' } })
// @ts-expect-error -- no such option
void run.waitFor(paid, { timeoutMs: 5 })
// @ts-expect-error -- a duration
void run.waitFor(paid, { timeout: null })

// park: its answer is the schema's
const answer = run.park('approval', { reason: 'Pay it?', schema, timeout: '7d' })
expectType<Equal<typeof answer, Promise<{ cents: number }>>>()
const parkOptions: ParkOptions<typeof schema> = { reason: 'Pay it?', schema }
void run.park('approval', parkOptions)
// @ts-expect-error -- what is to be decided?
void run.park('approval', { schema })
// @ts-expect-error -- what fits?
void run.park('approval', { reason: 'Pay it?' })
// @ts-expect-error -- they are not optional
void run.park('approval')

// call and start: the child's input goes in, its output comes out
const charge = defineWorkflow({
  name: 'charge',
  input: z.object({ card: z.string() }),
  handler: ({ card }, its) => (card === '' ? its.fail('no card') : { receipt: card }),
})
const nightly = defineWorkflow({ name: 'nightly', handler: () => 7 })
const startable: Startable<{ card: string }, { receipt: string }> = charge
const called = run.call(charge, { card: 'gold' })
expectType<Equal<typeof called, Promise<{ receipt: string }>>>()
const calledBare = run.call(nightly)
expectType<Equal<typeof calledBare, Promise<number>>>()
const calledAny = run.call(startable, { card: 'gold' }, { key: 'k', abandon: true })
expectType<Equal<typeof calledAny, Promise<{ receipt: string }>>>()
const begun = run.start(charge, { card: 'gold' }, { abandon: false })
expectType<Equal<typeof begun, Promise<RunRef<{ receipt: string }>>>>()
const childOptions: ChildOptions = {
  key: 'k',
  at: new Date(),
  delay: undefined,
  priority: 1,
  metadata: { from: 'here' },
  maxAttempts: 3,
  allowDifferentInput: true,
  abandon: undefined,
}
void run.start(nightly, undefined, childOptions)
// @ts-expect-error -- the input is missing
void run.call(charge)
// @ts-expect-error -- of another type
void run.call(charge, { card: 7 })
// @ts-expect-error -- a workflow, not its name
void run.call('charge', { card: 'gold' })
// @ts-expect-error -- its id follows from the call
void run.call(nightly, undefined, { id: 'x' })
// @ts-expect-error -- it is started by its parent's claim
void run.call(nightly, undefined, { tx })
// @ts-expect-error -- yes or no
void run.start(nightly, undefined, { abandon: 'later' })
// @ts-expect-error -- a call has no time limit; the child has a deadline
void run.call(nightly, undefined, { timeout: '1h' })

// map: its answers are those of its function
const mapped = run.map('import', ['a', 'b'] as const, async (item, index) => {
  expectType<Equal<[typeof item, typeof index], ['a' | 'b', number]>>()
  return await run.step('save', () => item.length)
})
expectType<Equal<typeof mapped, Promise<number[]>>>()
const mapOptions: MapOptions = { concurrency: 5 }
const atOnce = run.map('at once', [1], (n) => String(n), mapOptions)
expectType<Equal<typeof atOnce, Promise<string[]>>>()
// @ts-expect-error -- a name comes first
void run.map([1], (n) => n)
// @ts-expect-error -- a list
void run.map('x', new Set([1]), (n) => n)
// @ts-expect-error -- no such option
void run.map('x', [1], (n) => n, { limit: 5 })

// version and continueAs
const version = run.version('fraud check', 1, 2)
expectType<Equal<typeof version, Promise<number>>>()
// @ts-expect-error -- from where to where?
void run.version('fraud check', 1)
const next = run.continueAs({ round: 2 })
expectType<Equal<typeof next, Directive>>()
// @ts-expect-error -- with which input?
void run.continueAs()
const forEver = defineWorkflow({
  name: 'for ever',
  input: z.number(),
  onMismatch: 'park',
  handler: (n, its) => (n > 3 ? 'enough' : its.continueAs(n + 1)),
})
expectType<Equal<typeof forEver, Workflow<number, number, 'enough', 'for ever'>>>()
expectType<Equal<OnMismatch, 'warn' | 'park' | 'fail'>>()
// @ts-expect-error -- no such thing to do
void defineWorkflow({ name: 'x', onMismatch: 'ignore', handler: () => 1 })

// rollback gets the step's answer, and a step of its own
const booked = run.step('book', async () => ({ seat: '12A' }), {
  rollback: (given, step) => {
    expectType<Equal<[typeof given, typeof step], [{ seat: string }, Step]>>()
  },
})
expectType<Equal<typeof booked, Promise<{ seat: string }>>>()
void run.transaction('insert', async () => 7, { rollback: (id) => id.toFixed() })
const undo: StepOptions<number> = { rollback: (n) => n + 1 }
void run.step('one', () => 1, undo)
// @ts-expect-error -- the answer is a number
void run.step('one', () => 1, { rollback: (text: string) => text })
// @ts-expect-error -- a function
void run.step('one', () => 1, { rollback: true })

// client.signal: the signal says what its payload is
const sent = client.signal('id', paid, { cents: '5' }, { id: 'evt_1', tx })
expectType<Equal<typeof sent, Promise<void>>>()
const sendOptions: SendOptions = { id: undefined, tx: undefined }
void client.signal({ workflow: charge, key: 'k' }, 'paid', { any: 'thing' }, sendOptions)
void client.signal('id', bare, 7)
// @ts-expect-error -- what a handler gets is not what a sender gives
void client.signal('id', paid, { cents: 5 })
// @ts-expect-error -- the payload is missing
void client.signal('id', paid)
// @ts-expect-error -- no such option
void client.signal('id', paid, { cents: '5' }, { by: 'ada' })
// @ts-expect-error -- a workflow alone names no run
void client.signal(charge, paid, { cents: '5' })

// client.unpark and client.parked
const unparkOptions: UnparkOptions = { step: 'approval', by: 'ada' }
const unparked = client.unpark('id', { isAllowed: true }, unparkOptions)
expectType<Equal<typeof unparked, Promise<void>>>()
// @ts-expect-error -- the answer is missing
void client.unpark('id')
// @ts-expect-error -- it commits by itself
void client.unpark('id', 1, { tx })
const parked = client.parked({ workflow: 'charge' })
expectType<Equal<typeof parked, Promise<Parked[]>>>()
expectType<Equal<[Parked['run'], Parked['step'], Parked['reason']], [string, string, string]>>()
expectType<Equal<[Parked['since'], Parked['until']], [Date, Date | undefined]>>()
void client.parked()
// @ts-expect-error -- no such filter
void client.parked({ key: 'k' })

// what a run shows of it
expectType<Equal<RunView['rollback'], Rollback | undefined>>()
expectType<Equal<Rollback['state'], State>>()
expectType<Equal<[Rollback['undone'], Rollback['failed']], [readonly string[], readonly string[]]>>()
type Links = [RunView['parentId'], RunView['continuedAs'], RunView['undoes']]
expectType<Equal<Links, [string | undefined, string | undefined, string | undefined]>>()
expectType<Equal<Extract<Reason, { kind: 'suspended' }>['waits'], readonly OpenWait[]>>()
expectType<Equal<OpenWait['kind'], 'sleep' | 'signal' | 'call' | 'park'>>()
