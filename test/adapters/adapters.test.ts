import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { libraries, type Inside, type Library } from './libraries.ts'

const database = useDatabase()
const noted = defineWorkflow({
  name: 'noted',
  input: z.object({ n: z.bigint(), 'ö$1?': z.string() }),
  handler: ({ n }) => n,
})
const input = { n: 7n, 'ö$1?': `it's "so" $1 \\ ? :b` }

beforeAll(() => database.query('create table public.notes (text text primary key)'))

describe.each(Object.entries(libraries))('%s', (name, open) => {
  let library: Library
  beforeAll(async () => {
    library = await open(database.connectionString)
  }, 60_000)
  afterAll(() => library.end())

  const begin = (inside: Inside, key: string): Promise<{ id: string; created: boolean }> =>
    openClient(database).start(noted, input, { key: `${name} ${key}`, tx: inside.tx, metadata: { by: name } })
  const noteOf = async (text: string): Promise<number | null> =>
    (await database.query('select from public.notes where text = $1', [`${name} ${text}`])).rowCount
  const note = (inside: Inside, text: string): PromiseLike<unknown> =>
    inside.run(`insert into public.notes values ('${name} ${text}')`)

  test('RUN-08: a run started in its transaction is there once that commits, with the rows beside it', async () => {
    const client = openClient(database)
    let id = ''
    await library.transaction(async (inside) => {
      await note(inside, 'committed')
      const started = await begin(inside, 'committed')
      expect(started.created).toBe(true)
      id = started.id
      expect(await begin(inside, 'committed')).toMatchObject({ id, created: false })
      expect(await client.get(id)).toBeUndefined()
    })
    expect(await noteOf('committed')).toBe(1)
    expect(await client.get(id)).toMatchObject({ input, metadata: { by: name }, key: `${name} committed` })
    await startWorker(database, { workflows: [noted] })
    expect(await client.result<unknown>(id)).toBe(7n)
  })

  test('RUN-08: one that rolls back starts nothing', async () => {
    await expect(
      library.transaction(async (inside) => {
        await note(inside, 'undone')
        await begin(inside, 'undone')
        throw new Error('enough')
      }),
    ).rejects.toThrow('enough')
    expect(await noteOf('undone')).toBe(0)
    expect(await openClient(database).get({ workflow: noted, key: `${name} undone` })).toBeUndefined()
  })

  test('RUN-08: what a savepoint undoes is not started, and what came before it is', async () => {
    await library.transaction(async (inside) => {
      await begin(inside, 'before')
      await inside.run('savepoint half')
      await begin(inside, 'inside')
      await inside.run('rollback to savepoint half')
    })
    const client = openClient(database)
    expect(await client.get({ workflow: noted, key: `${name} before` })).toMatchObject({ input })
    expect(await client.get({ workflow: noted, key: `${name} inside` })).toBeUndefined()
  })

  test('RUN-08: in an aborted transaction a start fails, and says why', async () => {
    await library
      .transaction(async (inside) => {
        await Promise.resolve(inside.run('select 1 / 0')).catch(() => undefined)
        await expect(begin(inside, 'aborted')).rejects.toThrow(/aborted/)
        throw new Error('over')
      })
      .catch(() => undefined)
    expect(await openClient(database).get({ workflow: noted, key: `${name} aborted` })).toBeUndefined()
  })

  test('RUN-16, P6: startMany and cancel go with its transaction too', async () => {
    const client = openClient(database)
    const run = await client.start(noted, input, { delay: '1h' })
    let ids: string[] = []
    await library.transaction(async ({ tx }) => {
      ids = (await client.startMany(noted, [{ input }, { input }], { tx })).map(({ id }) => id)
      await client.cancel(run, { tx, reason: name })
    })
    expect(await Promise.all(ids.map((id) => client.get(id)))).toMatchObject([{ input }, { input }])
    await startWorker(database, { workflows: [noted] })
    await expect(client.result(run)).rejects.toThrow(name)
  })
})
