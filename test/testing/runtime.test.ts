import { describe, expect, test } from 'vitest'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing.ts'
import { useRuntime } from './use-runtime.ts'

const seconds = (from: Date, to: Date): number => Math.round((to.getTime() - from.getTime()) / 1_000)
const day = 86_400

const when = defineWorkflow({
  name: 'when',
  handler: async (_, run) => ({ at: await run.now(), attempt: run.attempt }),
})

const reminders = defineWorkflow({
  name: 'reminders',
  handler: async (_, run) => {
    const sent = await run.step('count', () => 1)
    return run.attempt === 1 && sent === 1 && !(await wasSnoozed(run)) ? run.snooze('5d') : { at: await run.now() }
  },
})

const snoozed = new Set<string>()
async function wasSnoozed(run: Run): Promise<boolean> {
  await run.step('look', () => undefined)
  if (snoozed.has(run.id)) return true
  snoozed.add(run.id)
  return false
}

describe('a test runtime', () => {
  const runtime = useRuntime({ workflows: [when, reminders] })

  test('runs workflows', async () => {
    const { client } = runtime()
    expect(await client.result(await client.start(when))).toMatchObject({ attempt: 1 })
  })

  test('moves time forward, and each run begins at its own time', async () => {
    const { client } = runtime()
    const from = await runtime().now()
    const early = await client.start(when, undefined, { delay: '10d' })
    const late = await client.start(when, undefined, { delay: '20d' })
    const never = await client.start(when, undefined, { delay: '40d' })
    await runtime().advance('30d')
    expect(seconds(from, (await client.result(early)).at)).toBeCloseTo(10 * day, -1)
    expect(seconds(from, (await client.result(late)).at)).toBeCloseTo(20 * day, -1)
    expect(seconds(from, await runtime().now())).toBeCloseTo(30 * day, -1)
    expect((await client.get(never))?.state).toBe('scheduled')
  })

  test('what a run plans from its own time is in time too', async () => {
    const { client } = runtime()
    const from = await runtime().now()
    const started = await client.start(reminders, undefined, { delay: '10d' })
    await runtime().advance('30d')
    expect(seconds(from, (await client.result(started)).at)).toBeCloseTo(15 * day, -1)
  })
})

test('timings', async () => {
  const open: TestRuntime[] = []
  for (let n = 0; n < 4; n += 1) {
    const t = performance.now()
    open.push(await createTestRuntime({ workflows: [when] }))
    console.log('create', performance.now() - t)
  }
  const { client } = open[0]!
  await client.start(when, undefined, { delay: '10d' })
  let t = performance.now()
  await open[0]!.advance('30d')
  console.log('advance', performance.now() - t)
  t = performance.now()
  await open[0]!.close()
  console.log('close', performance.now() - t)
  await Promise.all(open.map((each) => each.close()))
})
