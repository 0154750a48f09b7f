import type pg from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { useDatabase, type Address } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { HandClient } from '../support/variant.ts'

const database = useDatabase()
const clients: pg.Client[] = []

afterEach(async () => {
  // One in a black hole never says good-bye.
  for (const client of clients.splice(0)) client.end().catch(() => undefined)
  await Promise.resolve()
})

async function connect({ connectionString }: Address, connectionTimeoutMillis = 0): Promise<pg.Client> {
  const client = new HandClient({ connectionString, connectionTimeoutMillis })
  client.on('error', () => undefined)
  clients.push(client)
  await client.connect()
  return client
}

async function answerOf(client: pg.Client): Promise<unknown> {
  const { rows } = await client.query<{ answer: number }>('select 1 as answer')
  return rows[0]?.answer
}

test('cuts as many links as it is told, the oldest first', async () => {
  const proxy = await startProxy(database)
  const [first, second] = [await connect(proxy), await connect(proxy)]

  expect(proxy.cutNow(1)).toBe(1)

  await expect(answerOf(first)).rejects.toThrow()
  expect(await answerOf(second)).toBe(1)
})

test('swallows what goes over the present links, while new ones work', async () => {
  const proxy = await startProxy(database)
  const client = await connect(proxy)
  const onAnswer = vi.fn()

  proxy.blackHole('existing')
  const lost = answerOf(client).then(onAnswer, onAnswer)

  expect(await answerOf(await connect(proxy))).toBe(1)
  expect(onAnswer).not.toHaveBeenCalled()
  await proxy.close()
  await lost
})

test('accepts new links and never answers them, until it is mended', async () => {
  const proxy = await startProxy(database)

  proxy.blackHole('all')
  await expect(connect(proxy, 100)).rejects.toThrow(/timeout/)

  proxy.mend()
  expect(await answerOf(await connect(proxy))).toBe(1)
})

test('refuses new links, and leaves the others alone', async () => {
  const proxy = await startProxy(database)
  const client = await connect(proxy)

  proxy.refuse()

  await expect(connect(proxy)).rejects.toThrow()
  expect(await answerOf(client)).toBe(1)
})

test('delays what it carries, in its order', async () => {
  const proxy = await startProxy(database)
  const client = await connect(proxy)
  const began = performance.now()

  proxy.delay(50)
  const answers = await Promise.all([answerOf(client), answerOf(client)])

  expect(answers).toEqual([1, 1])
  expect(performance.now() - began).toBeGreaterThan(90)
})

test('takes new links to another server, and leaves the others where they are', async () => {
  const [proxy, other] = [await startProxy(database), await startProxy(database)]
  const client = await connect(proxy)

  proxy.retarget(other)
  await connect(proxy)

  expect(other.size).toBe(1)
  other.cutNow()
  expect(await answerOf(client)).toBe(1)
})

test('keeps notifications from arriving, and nothing else', async () => {
  const proxy = await startProxy(database)
  const client = await connect(proxy)
  const heard = vi.fn()
  client.on('notification', ({ payload }) => heard(payload))
  await client.query('listen news')

  await client.query(`notify news, 'first'`)
  proxy.dropNotifications()
  await client.query(`notify news, 'second'`)
  proxy.mend()
  await client.query(`notify news, 'third'`)

  expect(heard.mock.calls).toEqual([['first'], ['third']])
})

test('acts at the instant of a cut, when what was asked has been done', async () => {
  const proxy = await startProxy(database)
  const client = await connect(proxy)
  const act = vi.fn()
  await client.query('create table acted (n integer)')

  const cut = proxy.cut(/^Qinsert into acted/, { when: 'after', act })
  await expect(client.query('insert into acted values (1)')).rejects.toThrow()

  await cut
  expect(act).toHaveBeenCalledOnce()
  expect((await database.query('select n from acted')).rows).toEqual([{ n: 1 }])
})
