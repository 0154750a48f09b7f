import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  ArgumentError,
  defineWorkflow,
  InvalidStateError,
  NotFoundError,
  WaitTimeoutError,
  type Client,
  type Parked,
  type RunRef,
} from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const schema = z.object({ amount: z.coerce.number().max(100) })
const asks = defineWorkflow({
  name: 'asks',
  handler: async (_, run) => await run.park('approve', { reason: 'How much?', schema }),
})

async function parkedAt(client: Client, run: RunRef): Promise<Parked[]> {
  return (await client.parked()).filter((parked) => parked.run === run.id)
}

test("WAIT-05: a parked run shows what it asks, and goes on with a person's answer as the schema parses it", async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [asks] })
  const started = await client.start(asks, undefined, { key: 'k' })
  await expect.poll(() => parkedAt(client, started)).toHaveLength(1)
  expect(await client.parked({ workflow: 'asks' })).toEqual([
    {
      run: started.id,
      workflow: 'asks',
      key: 'k',
      step: 'approve',
      reason: 'How much?',
      since: expect.any(Date) as Date,
      until: undefined,
    },
  ])
  expect(await client.parked({ workflow: 'another' })).toEqual([])
  await client.unpark({ workflow: asks, key: 'k' }, { amount: '42' }, { by: 'ann' })
  expect(await client.result(started)).toEqual({ amount: 42 })
  expect(await parkedAt(client, started)).toEqual([])
  const { rows } = await database.query('select sent_by from holdfast.signals where run_id = $1', [started.id])
  expect(rows).toEqual([{ sent_by: 'ann' }])
})

test('WAIT-05: an answer that does not fit parks the run again, with the problem, and the same on every replay', async () => {
  const client = openClient(database)
  const seen: unknown[] = []
  const asksTwice = defineWorkflow({
    name: 'asks twice',
    handler: async (_, run) => {
      const { amount } = await run.park('approve', { reason: 'How much?', schema })
      seen.push(amount)
      await run.sleep('nap', 10)
      const other = await run.park('approve', { reason: 'And now?', schema })
      return [amount, other.amount]
    },
  })
  await startWorker(database, { workflows: [asksTwice] })
  const started = await client.start(asksTwice)
  for (const bad of [{ amount: 1_000 }, 'nothing']) {
    const before = (await parkedAt(client, started))[0]?.reason
    if (before === undefined) await expect.poll(() => parkedAt(client, started)).toHaveLength(1)
    const asked = (await parkedAt(client, started))[0]?.reason ?? ''
    await client.unpark(started, bad)
    await expect
      .poll(async () => (await parkedAt(client, started))[0])
      .toMatchObject({ step: 'approve', reason: expect.not.stringMatching(`^${escaped(asked)}$`) as string })
    expect((await parkedAt(client, started))[0]?.reason).toMatch(/^How much\? \(.*schema/)
  }
  await client.unpark(started, { amount: 7 })
  await expect.poll(() => parkedAt(client, started)).toMatchObject([{ step: 'approve#2', reason: 'And now?' }])
  await client.unpark(started, { amount: 8 })
  expect(await client.result(started)).toEqual([7, 8])
  expect(seen).toEqual([7, 7, 7])
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

test('WAIT-05: a time limit ends it with a WaitTimeoutError, the same on every replay', async () => {
  const client = openClient(database)
  const seen: boolean[] = []
  const asksForAnHour = defineWorkflow({
    name: 'asks for an hour',
    handler: async (_, run) => {
      const late = await run.park('approve', { reason: 'Soon?', schema, timeout: '1h' }).catch((e: unknown) => e)
      seen.push(late instanceof WaitTimeoutError)
      await run.sleep('nap', 10)
    },
  })
  await startWorker(database, { workflows: [asksForAnHour] })
  const started = await client.start(asksForAnHour)
  await becomes(client, started, 'suspended')
  const [parked] = await parkedAt(client, started)
  expect(Number(parked?.until) - Number(parked?.since)).toBe(3_600_000)
  await letPass(database, started.id, '1 hour')
  await client.result(started)
  expect(seen).toEqual([true, true])
})

test('WAIT-05: of two questions at once the answer says which it answers', async () => {
  const client = openClient(database)
  const asksBoth = defineWorkflow({
    name: 'asks both',
    handler: (_, run) =>
      Promise.all([
        run.park('left', { reason: 'Left?', schema: z.string() }),
        run.park('right', { reason: 'Right?', schema: z.string() }),
      ]),
  })
  await startWorker(database, { workflows: [asksBoth] })
  const started = await client.start(asksBoth)
  await expect.poll(() => parkedAt(client, started)).toHaveLength(2)
  const refused = await client.unpark(started, 'x').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ArgumentError)
  expect(refused).toMatchObject({ field: 'step', message: expect.stringContaining('left and right') as string })
  await client.unpark(started, 'r', { step: 'right' })
  await expect.poll(() => parkedAt(client, started)).toMatchObject([{ step: 'left' }])
  await client.unpark(started, 'l', { step: 'left' })
  expect(await client.result(started)).toEqual(['l', 'r'])
})

test('WAIT-05: one question takes one answer', async () => {
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [asks] })
  const started = await client.start(asks)
  await expect.poll(() => parkedAt(client, started)).toHaveLength(1)
  await worker.stop()
  const answers = await Promise.allSettled([1, 2, 3].map((amount) => client.unpark(started, { amount })))
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const refused = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
  for (const error of refused) expect(error).toBeInstanceOf(InvalidStateError)
  expect(refused.map(({ message }) => message).join(' ')).toContain('answered before')
  await startWorker(database, { workflows: [asks] })
  const given = answers.findIndex(({ status }) => status === 'fulfilled') + 1
  expect(await client.result(started)).toEqual({ amount: given })
})

test('WAIT-05: a run that is not parked, not there or parked at something else takes no answer', async () => {
  const client = openClient(database)
  const sleeps = defineWorkflow({ name: 'sleeps', handler: (_, run) => run.sleep('long', '1h') })
  await startWorker(database, { workflows: [asks, sleeps] })
  const sleeping = await client.start(sleeps)
  await becomes(client, sleeping, 'suspended')
  await expect(client.unpark(sleeping, 1)).rejects.toBeInstanceOf(InvalidStateError)
  await expect(client.unpark(newId(), 1)).rejects.toBeInstanceOf(NotFoundError)
  const parked = await client.start(asks)
  await expect.poll(() => parkedAt(client, parked)).toHaveLength(1)
  await expect(client.unpark(parked, 1, { step: 'another' })).rejects.toBeInstanceOf(InvalidStateError)
  await client.cancel(parked)
  await expect(client.unpark(parked, { amount: 1 })).rejects.toBeInstanceOf(InvalidStateError)
})

test('WAIT-05: a run that is retried afresh asks again, and takes an answer again', async () => {
  const client = openClient(database)
  const asksAndFails = defineWorkflow({
    name: 'asks and fails',
    handler: async (_, run) => {
      const { amount } = await run.park('approve', { reason: 'How much?', schema })
      return amount === 1 ? run.fail('too little') : amount
    },
  })
  await startWorker(database, { workflows: [asksAndFails] })
  const started = await client.start(asksAndFails)
  await expect.poll(() => parkedAt(client, started)).toHaveLength(1)
  await client.unpark(started, { amount: 1 })
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  await client.retry(started, { fresh: true })
  await expect.poll(() => parkedAt(client, started)).toHaveLength(1)
  await client.unpark(started, { amount: 2 })
  expect(await client.result(started)).toBe(2)
})

test('WAIT-05: twenty parked runs outlive the workers of one release and are answered under the next', async () => {
  const client = openClient(database)
  const release = (name: string) => [
    defineWorkflow({
      name: 'parks',
      handler: async (_, run) => {
        await run.step('before', () => name)
        const answer = await run.park('approve', { reason: 'Go?', schema: z.string() })
        return `${name} ${answer}`
      },
    }),
    defineWorkflow({ name: 'another', maxAttempts: name === 'old' ? 1 : 2, handler: () => name }),
  ]
  const [parks, another] = release('old')
  if (!parks || !another) throw new Error('two')
  const worker = await startWorker(database, { workflows: [parks, another] })
  const runs = await Promise.all(Array.from({ length: 20 }, () => client.start(parks)))
  await expect.poll(() => client.parked({ workflow: 'parks' })).toHaveLength(20)
  await worker.stop()
  await startWorker(database, { workflows: release('new') })
  await Promise.all(runs.map((run, n) => client.unpark(run, `${n}`)))
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(runs.map((_, n) => `new ${n}`))
})
