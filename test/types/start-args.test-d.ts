// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import type { Queryable, StartArgs, StartOptions, Workflow } from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare function start<I, O>(workflow: Workflow<I, unknown, O>, ...args: StartArgs<I, StartOptions>): Promise<O>
declare const tx: Queryable

const welcome = defineWorkflow({
  name: 'welcome',
  input: z.object({ email: z.email() }),
  handler: ({ email }) => ({ userId: email }),
})
const bare = defineWorkflow({ name: 'bare', handler: () => 7 })
const lenient = defineWorkflow({ name: 'lenient', input: z.string().optional(), handler: (text) => text ?? '' })

const started = start(welcome, { email: 'a@b.c' }, { key: 'a@b.c' })
expectType<Equal<typeof started, Promise<{ userId: string }>>>()

// every option at once
void start(
  welcome,
  { email: 'a@b.c' },
  {
    key: 'a@b.c',
    id: '018f4e5c-0000-7000-8000-000000000000',
    at: new Date(),
    delay: '1h',
    priority: 3,
    metadata: { from: 'sign-up' },
    maxAttempts: 3,
    tx,
    allowDifferentInput: true,
  },
)

// the input may be left out only where the workflow takes none
void start(bare)
void start(bare, undefined)
void start(bare, undefined, { key: 'k', delay: undefined })
void start(lenient)
void start(lenient, 'text', { priority: 1 })
// @ts-expect-error -- the input is missing
void start(welcome)
// @ts-expect-error -- the input is missing
void start(welcome, undefined, { key: 'k' })
// @ts-expect-error -- the workflow takes no input
void start(bare, { email: 'a@b.c' })

// @ts-expect-error -- of another type
void start(welcome, { email: 7 })
// @ts-expect-error -- no such field
void start(welcome, { email: 'a@b.c', mail: 'a@b.c' })
// @ts-expect-error -- no such option
void start(welcome, { email: 'a@b.c' }, { keys: 'k' })
// @ts-expect-error -- a priority is a number
void start(welcome, { email: 'a@b.c' }, { priority: 'high' })
// @ts-expect-error -- metadata is text
void start(welcome, { email: 'a@b.c' }, { metadata: { count: 1 } })
// @ts-expect-error -- not a transaction
void start(welcome, { email: 'a@b.c' }, { tx: {} })
// @ts-expect-error -- a Date, not its text
void start(welcome, { email: 'a@b.c' }, { at: '2030-01-01' })

expectType<Equal<StartArgs<string, 1>, [input: string, options?: 1]>>()
expectType<Equal<StartArgs<undefined, 1>, [input?: undefined, options?: 1]>>()

// a workflow read from a list takes any input, or none
declare const anyWorkflow: Workflow
void start(anyWorkflow)
void start(anyWorkflow, { whatever: 1 }, { key: 'k' })
