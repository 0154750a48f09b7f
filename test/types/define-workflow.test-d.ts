// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import type {
  ErrorClass,
  In,
  Limits,
  Parsed,
  Rate,
  RetryPolicy,
  Run,
  Schema,
  Workflow,
  WorkflowOptions,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const api: { create(email: string, idempotencyKey: string): Promise<{ id: string | undefined }> }

// the README's first example, without the sleep
const welcome = defineWorkflow({
  name: 'welcome',
  input: z.object({ email: z.email() }),
  handler: async ({ email }, run) => {
    const user = await run.step('create user', (step) => api.create(email, step.idempotencyKey))
    return user.id ? { userId: user.id } : run.fail('no id')
  },
})
expectType<Equal<typeof welcome, Workflow<{ email: string }, { email: string }, { userId: string }, 'welcome'>>>()

// start takes the schema's input, the handler and the group get its output
const converted = defineWorkflow({
  name: 'converted',
  input: z.object({ at: z.string().transform((text) => new Date(text)), size: z.number().default(1) }),
  group: (input) => {
    expectType<Equal<typeof input, { at: Date; size: number }>>()
    return input.at.toISOString()
  },
  handler: (input, run) => {
    expectType<Equal<typeof input, { at: Date; size: number }>>()
    expectType<Equal<typeof run, Run>>()
    return input.size
  },
})
expectType<
  Equal<
    typeof converted,
    Workflow<{ at: string; size?: number | undefined }, { at: Date; size: number }, number, 'converted'>
  >
>()

// valibot and arktype alike
const withValibot = defineWorkflow({
  name: 'valibot',
  input: v.object({ count: v.pipe(v.string(), v.transform(Number)) }),
  handler: ({ count }) => count.toFixed(),
})
expectType<Equal<typeof withValibot, Workflow<{ count: string }, { count: number }, string, 'valibot'>>>()

const withArktype = defineWorkflow({
  name: 'arktype',
  input: type({ count: 'string.numeric.parse' }),
  handler: async ({ count }) => count + 1,
})
expectType<Equal<typeof withArktype, Workflow<{ count: string }, { count: number }, number, 'arktype'>>>()

// with an output schema the handler returns its input, `result` gives its output
const withOutput = defineWorkflow({
  name: 'with output',
  input: z.string(),
  output: z.object({ kind: z.enum(['big', 'small']), size: z.coerce.string<number>() }),
  handler: async (text, run) => {
    if (text === '') return run.fail('nothing to do')
    return { kind: text.length > 10 ? ('big' as const) : ('small' as const), size: text.length }
  },
})
expectType<Equal<typeof withOutput, Workflow<string, string, { kind: 'big' | 'small'; size: string }, 'with output'>>>()

defineWorkflow({
  name: 'wrong output',
  output: z.object({ size: z.number() }),
  // @ts-expect-error -- the handler's answer does not fit the output schema
  handler: async () => ({ size: 'large' }),
})

// without schemas: the input is undefined, the output what the handler returns
const bare = defineWorkflow({
  name: 'bare',
  handler: (input) => {
    expectType<Equal<typeof input, undefined>>()
    return Promise.resolve(7)
  },
})
expectType<Equal<typeof bare, Workflow<undefined, undefined, number, 'bare'>>>()

const withUndefined = defineWorkflow({ name: 'u', input: undefined, output: undefined, handler: () => 1 })
expectType<Equal<typeof withUndefined, Workflow<undefined, undefined, number, 'u'>>>()

// directives are no output, however they come
const steered = defineWorkflow({
  name: 'steered',
  handler: (_, run) => (run.attempt > 1 ? run.snooze('1h') : run.attempt > 2 ? run.retry() : ('ok' as const)),
})
expectType<Equal<typeof steered, Workflow<undefined, undefined, 'ok', 'steered'>>>()

const nothing = defineWorkflow({ name: 'nothing', handler: async () => {} })
expectType<Equal<typeof nothing, Workflow<undefined, undefined, void, 'nothing'>>>()

// every option at once
defineWorkflow({
  name: 'everything',
  input: z.object({ tenant: z.string() }),
  output: z.number(),
  handler: () => 1,
  retry: { initial: '1s', factor: 2, max: '1h', jitter: 0.1, nonRetryable: [TypeError] },
  maxAttempts: 3,
  timeout: '15m',
  deadline: 86_400_000,
  lease: '1h30m',
  maxLease: '2h',
  priority: 7,
  keep: '7d',
  keepDone: '1d',
  dedupe: '24h',
  maxWaiting: 100,
  maxSteps: 100,
  errors: [RangeError],
  group: ({ tenant }) => tenant,
  concurrency: { limit: 5, perGroup: 1 },
  rate: { limit: 5, per: '1s', perGroup: { limit: 1, per: '1m' } },
  fair: true,
})

defineWorkflow({ name: 'short', handler: () => 1, concurrency: 5, rate: { limit: 1, per: 1000 } })

// @ts-expect-error -- a name is required
defineWorkflow({ handler: () => 1 })
// @ts-expect-error -- a handler is required
defineWorkflow({ name: 'x' })
// @ts-expect-error -- no such option
defineWorkflow({ name: 'x', handler: () => 1, retries: 3 })
// @ts-expect-error -- a priority is a number
defineWorkflow({ name: 'x', handler: () => 1, priority: 'high' })
// @ts-expect-error -- a lease is a duration
defineWorkflow({ name: 'x', handler: () => 1, lease: new Date() })
// @ts-expect-error -- a schema is required, not a plain object
defineWorkflow({ name: 'x', input: { email: 'string' }, handler: () => 1 })
// @ts-expect-error -- classes, not instances
defineWorkflow({ name: 'x', handler: () => 1, errors: [new RangeError()] })
// @ts-expect-error -- no such limit
defineWorkflow({ name: 'x', handler: () => 1, concurrency: { limit: 5, perTenant: 1 } })
// @ts-expect-error -- a rate needs its stretch of time
defineWorkflow({ name: 'x', handler: () => 1, rate: { limit: 5 } })
// @ts-expect-error -- a group is text
defineWorkflow({ name: 'x', input: z.object({ id: z.number() }), group: ({ id }) => id, handler: () => 1 })
// @ts-expect-error -- the input has no such field
defineWorkflow({ name: 'x', input: z.object({ id: z.number() }), handler: ({ name }) => name })

// a definition cannot be changed
// @ts-expect-error -- read only
welcome.name = 'welcome'
// @ts-expect-error -- read only
welcome.definition.leaseMs = 1

// workflows of any input and output make a list
const list: readonly Workflow[] = [welcome, converted, withOutput, bare, steered, nothing]
void list

defineWorkflow({ name: 'one of two', output: z.enum(['a', 'b']), handler: () => 'a' as const })
defineWorkflow({ name: 'list', output: z.array(z.number()), handler: async () => [1, 2] })
defineWorkflow({ name: 'any', output: z.any(), handler: async () => [1, 2] })
defineWorkflow({ name: 'void', output: z.void(), handler: async () => {} })
defineWorkflow({ name: 'steer', output: z.string(), handler: (_, run) => run.snooze('1h') })
// @ts-expect-error -- none of the two
defineWorkflow({ name: 'one of two', output: z.enum(['a', 'b']), handler: () => 'c' })
// @ts-expect-error -- a field is missing
defineWorkflow({ name: 'object', output: z.object({ a: z.string() }), handler: async () => ({}) })
// @ts-expect-error -- undefined is no text
defineWorkflow({ name: 'text', output: z.string(), handler: async () => {} })

// options that are put together before
const options: WorkflowOptions = { name: 'x', handler: () => 1, priority: undefined }
const rate: Rate = { limit: 5, per: '1s' }
const retry: RetryPolicy = { initial: 100, factor: 1.5, max: '1m', jitter: 0, nonRetryable: [TypeError] }
const limits: Limits<{ tenant: string }> = { group: ({ tenant }) => tenant, concurrency: 5, rate, fair: true }
void [options, retry, limits]
// @ts-expect-error -- milliseconds are a number
const wrongRate: Rate = { limit: 5, per: 5n }
// @ts-expect-error -- no such word
const wrongRetry: RetryPolicy = { attempts: 3 }
// @ts-expect-error -- a limit of groups alone needs its own stretch of time
const wrongLimits: Limits<string> = { rate: { perGroup: { limit: 1 } } }
void [wrongRate, wrongRetry, wrongLimits]

// errors are classes, abstract ones too
abstract class Refusal extends Error {}
const errorClasses: readonly ErrorClass[] = [Refusal, TypeError]
// @ts-expect-error -- no error
const noErrorClass: ErrorClass = Date
void [errorClasses, noErrorClass]

// what a schema takes and gives; without one both are undefined
const coerced = z.object({ at: z.iso.date().transform((text) => new Date(text)) })
expectType<Equal<In<typeof coerced>, { at: string }>>()
expectType<Equal<Parsed<typeof coerced>, { at: Date }>>()
expectType<Equal<[In<undefined>, Parsed<undefined>], [undefined, undefined]>>()
const schemas: readonly Schema[] = [coerced, v.string(), type('string')]
// @ts-expect-error -- a class is no schema
const noSchema: Schema = Date
void [schemas, noSchema]

// what stands in a definition, with its defaults
expectType<Equal<typeof welcome.definition.maxLeaseMs, number>>()
expectType<Equal<typeof welcome.definition.deadlineMs, number | undefined>>()
