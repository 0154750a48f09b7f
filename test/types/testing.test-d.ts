// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineSignal, defineWorkflow } from '../../src/index.ts'
import type { Client, EndlessError, FailureCause, Queryable, State, Step, Worker } from '../../src/index.ts'
import { crashTest, createTestRuntime } from '../../src/testing.ts'
import type {
  CrashOutcome,
  CrashPreparation,
  CrashProblem,
  CrashReport,
  CrashSignal,
  CrashTestOptions,
  IdleOptions,
  MockHandle,
  MockOptions,
  StepMock,
  TestRuntime,
  TestRuntimeOptions,
} from '../../src/testing.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

const welcome = defineWorkflow({
  name: 'welcome',
  input: z.object({ email: z.email() }),
  handler: ({ email }) => ({ userId: email }),
})
const paid = defineSignal({ name: 'paid', schema: z.number() })
const bare = defineWorkflow({ name: 'bare', handler: () => 7 })

// a runtime, with every option
const options: TestRuntimeOptions = {
  workflows: [welcome, bare],
  connectionString: 'postgres://localhost/postgres',
  concurrency: 4,
  logger: console,
}
const created = createTestRuntime(options)
expectType<Equal<typeof created, Promise<TestRuntime>>>()
void createTestRuntime({ workflows: [bare], connectionString: undefined })
// @ts-expect-error -- which workflows?
void createTestRuntime({})
// @ts-expect-error -- no such option
void createTestRuntime({ workflows: [bare], pool: undefined })

declare const runtime: TestRuntime
expectType<Equal<typeof runtime.client, Client>>()
expectType<Equal<typeof runtime.worker, Worker>>()
expectType<Equal<typeof runtime.connectionString, string>>()
const times = [runtime.now(), runtime.advance('30d'), runtime.advance(5), runtime.runUntilIdle()] as const
expectType<Equal<typeof times, readonly [Promise<Date>, Promise<void>, Promise<void>, Promise<void>]>>()
const idle: IdleOptions = { skipTime: true }
void runtime.runUntilIdle(idle)
void runtime.close()
// @ts-expect-error -- for how long?
void runtime.advance()
// @ts-expect-error -- no such option
void runtime.runUntilIdle({ skip: true })

async function disposed(): Promise<void> {
  await using own = await createTestRuntime(options)
  void own
}
void disposed

// steps: an answer, an error, another body
const handle = runtime.mockStep('charge', { id: 1 })
expectType<Equal<typeof handle, MockHandle>>()
expectType<Equal<typeof handle.calls, number>>()
handle.restore()
// @ts-expect-error -- it counts, nobody else does
handle.calls = 0
const times2: MockOptions = { times: 2, workflow: welcome }
runtime.mockStep('charge', new Error('declined'), times2)
runtime.mockStep('charge', undefined, { workflow: 'welcome' })
runtime.mockStep('charge', (step, tx) => {
  expectType<Equal<typeof step, Step>>()
  expectType<Equal<typeof tx, Queryable | undefined>>()
  return step.try
})
const mock: StepMock = null
runtime.mockStep('charge', mock)
// @ts-expect-error -- instead of what?
runtime.mockStep('charge')
// @ts-expect-error -- no such option
runtime.mockStep('charge', 1, { time: 1 })

// crashes: the input is the workflow's
const crashed = crashTest(welcome, { email: 'a@b.c' })
expectType<Equal<typeof crashed, Promise<CrashReport>>>()
const all: CrashTestOptions = {
  connectionString: 'postgres://localhost/postgres',
  maxPoints: 100,
  timeout: '10s',
  prepare: async (preparation) => {
    expectType<Equal<typeof preparation, CrashPreparation>>()
    expectType<Equal<typeof preparation.client, Client>>()
    preparation.mockStep('charge', 1)
    await fetch(preparation.connectionString)
  },
  workflows: [welcome, bare],
  signals: [{ signal: paid, payload: 7, after: '1h' }, { signal: 'go' }],
  answers: { check: true },
}
const sent: CrashSignal = { signal: 'go' }
void sent
void crashTest(welcome, { email: 'a@b.c' }, all)
void crashTest(bare)
void crashTest(bare, undefined, { timeout: 50 })
// @ts-expect-error -- the input is missing
void crashTest(welcome)
// @ts-expect-error -- of another type
void crashTest(welcome, { email: 7 })
// @ts-expect-error -- no such option
void crashTest(bare, undefined, { points: 7 })
// @ts-expect-error -- which signal?
void crashTest(bare, undefined, { signals: [{ payload: 7 }] })

declare const report: CrashReport
expectType<Equal<typeof report.points, number>>()
expectType<Equal<typeof report.outcome, CrashOutcome | undefined>>()
expectType<Equal<CrashOutcome['state'], State>>()
expectType<Equal<CrashOutcome['failure'], FailureCause | undefined>>()
expectType<Equal<NonNullable<CrashOutcome['rollback']>['undone'], readonly string[]>>()
expectType<Equal<CrashProblem['kind'], 'ran_again' | 'divergence' | 'other_outcome' | 'stuck'>>()
for (const problem of report.problems) {
  expectType<Equal<typeof problem.point, string>>()
  if (problem.kind === 'other_outcome') expectType<Equal<typeof problem.got, CrashOutcome>>()
  if (problem.kind === 'ran_again') expectType<Equal<typeof problem.step, string>>()
}

declare const endless: EndlessError
expectType<Equal<typeof endless.code, 'ENDLESS'>>()
