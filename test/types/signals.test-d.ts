// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineSignal, type Client, type Run, type Signal } from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const run: Run
declare const client: Client

const paid = defineSignal({ name: 'paid', schema: z.object({ at: z.string().transform((text) => new Date(text)) }) })
const plain = defineSignal({ name: 'plain' })

// what a handler gets is what the schema makes of it
const received = run.waitFor(paid)
expectType<Equal<typeof received, Promise<{ at: Date }>>>()
const named = run.waitFor('paid', { schema: z.number(), timeout: '1h' })
expectType<Equal<typeof named, Promise<number>>>()
const unknown = run.waitFor('paid', { timeout: 5 })
expectType<Equal<typeof unknown, Promise<unknown>>>()
const untyped = run.waitFor(plain)
expectType<Equal<typeof untyped, Promise<unknown>>>()
// @ts-expect-error -- a duration
void run.waitFor(paid, { timeout: true })

// what a sender gives is what the schema takes
void client.signal('id', paid, { at: '2026-11-30' })
void client.signal('id', plain, new Map())
void client.signal({ workflow: 'orders', key: 'k' }, 'paid', null, { id: 'once' })
// @ts-expect-error -- not what the schema makes of it
void client.signal('id', paid, { at: new Date() })
// @ts-expect-error -- nothing
void client.signal('id', paid)

const parked = run.park('ask', { reason: 'Well?', schema: z.enum(['yes', 'no']) })
expectType<Equal<typeof parked, Promise<'yes' | 'no'>>>()
// @ts-expect-error -- a reason is wanted
void run.park('ask', { schema: z.string() })
// @ts-expect-error -- a schema is wanted
void run.park('ask', { reason: 'Well?' })

declare const anySignal: Signal<number, string>
void client.signal('id', anySignal, 'text')
// @ts-expect-error -- the sender's side
void client.signal('id', anySignal, 1)
