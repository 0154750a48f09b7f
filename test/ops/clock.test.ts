import { expect, test } from 'vitest'
import { z } from 'zod'
import { Client } from '../../src/client/client.ts'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow } from '../../src/index.ts'
import { systemClock, type Clock } from '../../src/model/clock.ts'
import { createDatabase, useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { optionsFor } from '../support/variant.ts'
import { openClient, rareLooks, startWorker } from '../support/worker.ts'
import { hour, long, prompt } from './clocked-workflows.ts'

const database = useDatabase()

// Who is late by the hour that its time of day is off does not come in time.
const timings = rareLooks

const off = (ms: number): Clock => ({ ...systemClock, wallClock: () => systemClock.wallClock() + ms })

/** A client whose process has another time of day. */
function clientOff(ms: number): { client: Client; close: () => Promise<void> } {
  const clock = off(ms)
  const client = new Client({
    database: new Database({ ...optionsFor(database), clock }),
    clock,
    prepare: () => Promise.resolve(),
  })
  return { client, close: () => client.close() }
}

test('OPS-08: clients and a worker an hour off change neither when runs are due nor their order', async () => {
  const begun: number[] = []
  const noting = defineWorkflow({ name: 'noting', input: z.number(), handler: (n) => void begun.push(n) })
  const clients = [clientOff(hour), clientOff(-hour)] as const
  const started = []
  for (let n = 0; n < 6; n += 1) started.push(await clients[n % 2 === 0 ? 0 : 1].client.start(noting, n))
  const delayed = await Promise.all(clients.map(({ client }) => client.start(noting, 6, { delay: 600 })))
  expect(delayed.map(({ state }) => state)).toEqual(['scheduled', 'scheduled'])

  await startWorker(database, { workflows: [noting], concurrency: 1, clock: off(hour), timings })
  await Promise.all([...started, ...delayed].map(({ id }) => openClient(database).result(id)))
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 6])
  const { rows } = await database.query(
    `select from holdfast.runs
     where id = any($1) and due_at = created_at + interval '600 ms' and claimed_at >= due_at`,
    [delayed.map(({ id }) => id)],
  )
  expect(rows).toHaveLength(2)
  await Promise.all(clients.map(({ close }) => close()))
})

test('OPS-08: processes an hour off promote, renew, lose and take over by the clock of the database alone', async () => {
  const own = await createDatabase()
  try {
    const client = openClient(own)
    const [behind, ahead] = ['behind-workflows.ts', 'ahead-workflows.ts'].map(
      (file) => new URL(file, import.meta.url),
    ) as [URL, URL]
    const expectPrompt = async (): Promise<void> => {
      const { id } = await client.start(prompt, undefined, { delay: 200 })
      await client.result(id)
      const { rows } = await own.query(`select from holdfast.runs where id = $1 and claimed_at >= due_at`, [id])
      expect(rows).toHaveLength(1)
    }

    const first = await forkWorker(own, { module: behind, timings })
    const { id } = await client.start(long)
    const began = await first.hear('began')
    expect(Number(began.value)).toBeLessThan(Date.now() - hour / 2)
    await expectPrompt()
    const renewed = `select from holdfast.runs where id = $1 and attempt = 1 and state = 'running'
      and now() > claimed_at + interval '1.7 s' and lease_until between now() and now() + interval '1 s'`
    await expect.poll(async () => (await own.query(renewed, [id])).rowCount, { timeout: 10_000 }).toBe(1)

    const second = await forkWorker(own, { module: ahead, timings })
    await first.kill()
    const again = await second.hear('began')
    expect(Number(again.value)).toBeGreaterThan(Date.now() + hour / 2)
    await client.result(id)
    expect(await client.get(id)).toMatchObject({ state: 'done', attempt: 2 })
    await expectPrompt()
    expect(await second.terminate()).toEqual({ code: 0, signal: null })
    await client.close()
  } finally {
    await own.drop()
  }
})
