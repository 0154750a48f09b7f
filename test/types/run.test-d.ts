// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import type {
  Answer,
  Directive,
  DirectiveKind,
  Duration,
  Logger,
  Queryable,
  Run,
  Step,
  StepOptions,
  StepRetry,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const run: Run

// what it knows of itself
expectType<Equal<[typeof run.id, typeof run.workflow], [string, string]>>()
expectType<Equal<[typeof run.key, typeof run.group], [string | undefined, string | undefined]>>()
expectType<Equal<[typeof run.attempt, typeof run.maxAttempts], [number, number]>>()
expectType<Equal<typeof run.metadata, Readonly<Record<string, string>>>>()
expectType<Equal<typeof run.leaseExpiresAt, Date>>()
expectType<Equal<typeof run.abortSignal, AbortSignal>>()
expectType<Equal<typeof run.log, Logger>>()
// @ts-expect-error -- read only
run.attempt = 1
// @ts-expect-error -- read only
run.metadata['from'] = 'here'

// step: what its body answers, later or at once
const later = run.step('later', async () => ({ id: 1 }))
expectType<Equal<typeof later, Promise<{ id: number }>>>()
const atOnce = run.step('at once', (step) => {
  expectType<Equal<typeof step, Step>>()
  expectType<Equal<[typeof step.key, typeof step.idempotencyKey], [string, string]>>()
  expectType<Equal<[typeof step.try, typeof step.abortSignal], [number, AbortSignal]>>()
  return 'text'
})
expectType<Equal<typeof atOnce, Promise<string>>>()
const nothing = run.step('nothing', () => {})
expectType<Equal<typeof nothing, Promise<void>>>()
const steered = run.step('steered', () => (run.attempt > 1 ? run.fail('no') : Number(run.id)))
expectType<Equal<typeof steered, Promise<number>>>()
const retry: StepRetry = { maxTries: 5, initial: '1s', factor: 2, max: '1m', jitter: 0.1, nonRetryable: [TypeError] }
const options: StepOptions = { args: { any: 'thing' }, retry, timeout: '30s' }
void run.step('with options', () => 1, options)
// @ts-expect-error -- a name comes first
void run.step(() => 1)
// @ts-expect-error -- a body is a function
void run.step('no body', Promise.resolve(1))
// @ts-expect-error -- a name is text
void run.step(7, () => 1)
// @ts-expect-error -- no such option
void run.step('x', () => 1, { retries: 3 })
// @ts-expect-error -- not a number of tries
void run.step('x', () => 1, { retry: 3 })
// @ts-expect-error -- a duration
void run.step('x', () => 1, { timeout: null })

// transaction: its body gets the transaction first
const inserted = run.transaction('insert', async (tx, step) => {
  expectType<Equal<typeof tx, Queryable>>()
  expectType<Equal<typeof step, Step>>()
  const { rows } = await tx.query('insert into t values ($1) returning id', [1])
  return rows.length
})
expectType<Equal<typeof inserted, Promise<number>>>()
void run.transaction('with options', async () => 1, { timeout: '5s', args: 1 })
// @ts-expect-error -- its body is asynchronous
void run.transaction('at once', () => 1)
// @ts-expect-error -- a transaction has no pool's methods
void run.transaction('connect', async (tx) => tx.connect())

// memos
const memos = [run.now(), run.random(), run.uuid()] as const
expectType<Equal<typeof memos, readonly [Promise<Date>, Promise<number>, Promise<string>]>>()
// @ts-expect-error -- a promise: it is durable before it is known
const now: Date = run.now()
void now

// progress and extend
expectType<Equal<ReturnType<typeof run.progress>, void>>()
run.progress({ done: 5, of: 10 })
// @ts-expect-error -- one value
run.progress(5, 10)
const extended = run.extend('10m')
expectType<Equal<typeof extended, Promise<Date>>>()
// @ts-expect-error -- for how long?
void run.extend()

// directives
const directives = [
  run.retry(),
  run.retry('5m', 'busy'),
  run.snooze('1h', 'not yet'),
  run.fail('no id', { cause: new Error('none') }),
]
expectType<Equal<typeof directives, Directive[]>>()
declare const directive: Directive
expectType<Equal<typeof directive.kind, DirectiveKind>>()
expectType<Equal<DirectiveKind, 'retry' | 'snooze' | 'fail' | 'continue'>>()
// @ts-expect-error -- how long to sleep?
run.snooze()
// @ts-expect-error -- a reason is required
run.fail()
// @ts-expect-error -- the cause has a name
run.fail('no id', 'none')
// @ts-expect-error -- only `run` makes what is taken for one
const lookalike: Directive = Object.assign(new Error('x'), { kind: 'fail' as const })
void lookalike

// what is left of an answer once directives are taken out
expectType<Equal<Answer<Promise<number | Directive>>, number>>()
expectType<Equal<Answer<Directive>, never>>()
expectType<Equal<Answer<undefined>, undefined>>()

// durations: milliseconds or text; whether text can be read shows when it is
const durations: Duration[] = [0, 1500, '30s', '1h30m', '3d', '250ms', '2w', process.env['TIMEOUT'] ?? '1m']
void durations
// @ts-expect-error -- no bigint
const big: Duration = 5n
// @ts-expect-error -- no instant
const instant: Duration = new Date()
// @ts-expect-error -- no absence
const absent: Duration = undefined
void [big, instant, absent]
