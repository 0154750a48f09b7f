import { afterEach, describe, expect, test } from 'vitest'
import { defineWorkflow, type Step } from '../../src/index.ts'
import type { MockHandle, MockOptions, StepMock } from '../../src/testing.ts'
import { useRuntime } from './use-runtime.ts'

const order = defineWorkflow({
  name: 'order',
  retry: { initial: 0 },
  handler: async (_, run) => {
    const { step, transaction } = run
    const charge = await step('charge', () => 'really charged')
    const again = await step('charge', () => 'really charged again')
    const rows = await transaction(
      'insert',
      async (tx) => (await tx.query('select 7 as seven')).rows[0]?.seven as number,
    )
    return { charge, again, rows, attempt: run.attempt }
  },
})

const other = defineWorkflow({ name: 'other', handler: (_, run) => run.step('charge', () => 'of the other') })

const flaky = defineWorkflow({
  name: 'flaky',
  handler: (_, run) => run.step('call', () => 'real', { retry: { initial: '2s', maxTries: 4 } }),
})

const seen = defineWorkflow({
  name: 'seen',
  handler: async (_, run) => ({
    at: run.leaseExpiresAt.getTime() > 0,
    aborted: run.abortSignal.aborted,
    id: await run.step('id', () => run.id),
    own: run.id,
  }),
})

describe('mockStep', () => {
  const runtime = useRuntime({ workflows: [order, other, flaky, seen] })
  const mocks: MockHandle[] = []

  function mock(name: string, how: StepMock, options?: MockOptions): MockHandle {
    const handle = runtime().mockStep(name, how, options)
    mocks.push(handle)
    return handle
  }

  afterEach(() => {
    for (const handle of mocks.splice(0)) handle.restore()
  })

  async function result(): Promise<unknown> {
    return await runtime().client.result(await runtime().client.start(order))
  }

  test('answers in the place of the body, in every step of that name', async () => {
    const charge = mock('charge', { id: 1 })
    const answered = { charge: { id: 1 }, again: { id: 1 }, rows: 7, attempt: 1 }
    expect(await result()).toEqual(answered)
    expect(charge.calls).toBe(2)
  })

  test('answers so many times, then the body runs again', async () => {
    const charge = mock('charge', 'mocked', { times: 1 })
    expect(await result()).toMatchObject({ charge: 'mocked', again: 'really charged again' })
    expect(charge.calls).toBe(1)
  })

  test('throws an error; what it leads to is real', async () => {
    const charge = mock('charge', new Error('declined'), { times: 2 })
    expect(await result()).toMatchObject({ charge: 'really charged', attempt: 3 })
    expect(charge.calls).toBe(2)
  })

  test("is tried as often as the step's own retry says, without waiting", async () => {
    mock('call', new Error('busy'), { times: 3 })
    const { client } = runtime()
    expect(await client.result(await client.start(flaky), { timeout: '5s' })).toBe('real')
  })

  test('runs another body, with the same step and transaction', async () => {
    const keys: string[] = []
    mock('charge', (step: Step) => keys.push(step.key))
    mock('insert', async (_step, tx) => (await tx?.query('select 8 as eight'))?.rows[0]?.eight as number)
    expect(await result()).toEqual({ charge: 1, again: 2, rows: 8, attempt: 1 })
    expect(keys).toEqual(['charge', 'charge#2'])
  })

  test('is meant for one workflow alone, by it or its name', async () => {
    const { client } = runtime()
    mock('charge', 'mocked', { workflow: other })
    expect(await client.result(await client.start(other))).toBe('mocked')
    expect(await result()).toMatchObject({ charge: 'really charged' })
    mock('charge', 'by name', { workflow: 'order' })
    expect(await result()).toMatchObject({ charge: 'by name' })
  })

  test('gives way to a newer one, and comes back after it', async () => {
    mock('charge', 'older')
    mock('charge', 'newer', { times: 1 })
    expect(await result()).toMatchObject({ charge: 'newer', again: 'older' })
  })

  test('can be taken back', async () => {
    const charge = mock('charge', 'mocked')
    charge.restore()
    expect(await result()).toMatchObject({ charge: 'really charged' })
    expect(charge.calls).toBe(0)
  })

  test('leaves the rest of run as it is', async () => {
    const { client } = runtime()
    const started = await client.start(seen)
    expect(await client.result(started)).toEqual({ at: true, aborted: false, id: started.id, own: started.id })
  })

  test('refuses what is no name and no option', () => {
    expect(() => mock(7 as never, 1)).toThrow(expect.objectContaining({ code: 'ARGUMENT', field: 'name' }))
    expect(() => mock('charge', 1, { times: 0 })).toThrow(expect.objectContaining({ code: 'ARGUMENT', field: 'times' }))
    expect(() => mock('charge', 1, { workflow: 7 as never })).toThrow(
      expect.objectContaining({ code: 'ARGUMENT', field: 'workflow' }),
    )
    expect(() => mock('charge', 1, { time: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'ARGUMENT', field: 'time', remedy: expect.stringContaining('times') }),
    )
  })
})
