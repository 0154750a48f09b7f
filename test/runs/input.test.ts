import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, InvalidInputError, type Queryable } from '../../src/index.ts'
import { createDatabase, useDatabase, type TestDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

async function rowCount(on: TestDatabase): Promise<number> {
  const tables = ['runs', 'keys', 'definitions'].map((table) => `(select count(*) from holdfast.${table})`)
  const { rows } = await on.query<{ count: number }>(`select (${tables.join('+')})::integer as count`)
  return rows[0]?.count ?? NaN
}

test('RUN-17: input that does not fit the schema is refused before a row is written, whatever refuses it', async () => {
  const own = await createDatabase()
  try {
    const client = openClient(own)
    const address = z.object({ email: z.email(), tags: z.array(z.string()).max(2) })
    const plain = defineWorkflow({ name: 'plain', input: address, handler: () => undefined })
    const asynchronous = defineWorkflow({
      name: 'asynchronous',
      input: z.string().refine((text) => Promise.resolve(text === 'right'), 'not right'),
      handler: () => undefined,
    })
    const broken = defineWorkflow({
      name: 'broken',
      input: z.string().transform((): string => {
        throw new Error('the schema is broken')
      }),
      handler: () => undefined,
    })
    const queries: string[] = []
    const tx: Queryable = {
      query: (text) => {
        queries.push(text)
        return own.query(text)
      },
    }
    for (const options of [{}, { key: 'k' }, { tx }]) {
      const refused = client.start(plain, { email: 'nobody', tags: ['a', 'b', 'c'] }, options)
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        field: 'input',
        issues: [{ path: 'email' }, { path: 'tags' }],
      })
      await expect(client.start(plain, null as never, options)).rejects.toThrow(InvalidInputError)
      await expect(client.start(asynchronous, 'wrong', options)).rejects.toThrow('not right')
      await expect(client.start(broken, 'any', options)).rejects.toThrow(InvalidInputError)
    }
    expect(queries).toEqual([])
    expect(await rowCount(own)).toBe(0)
    expect((await client.start(asynchronous, 'right')).created).toBe(true)
    await client.close()
  } finally {
    await own.drop()
  }
})

test('RUN-17: a stored input that no longer fits fails its run with cause invalid, and the queue goes on', async () => {
  const client = openClient(database)
  const before = defineWorkflow({ name: 'changes', input: z.object({ name: z.string() }), handler: () => 'before' })
  const handled: unknown[] = []
  const after = defineWorkflow({
    name: 'changes',
    input: z.object({ name: z.string(), email: z.email() }),
    handler: ({ email }) => {
      handled.push(email)
      return email
    },
  })
  const stale = await client.start(before, { name: 'Ada' })
  const started = await database.query<{ id: string }>(`select id from holdfast.start('changes', '{"name": 7}')`)
  const fromSql = started.rows[0]?.id as string
  const fitting = await client.start(after, { name: 'Ada', email: 'ada@example.org' })

  await startWorker(database, { workflows: [after], concurrency: 1 })
  expect(await client.result(fitting)).toBe('ada@example.org')
  for (const [run, path] of [
    [stale, 'email'],
    [fromSql, 'name'],
  ] as const) {
    await expect(client.result(run)).rejects.toMatchObject({
      code: 'RUN_FAILED',
      failure: 'invalid',
      cause: { name: 'InvalidInputError', code: 'INVALID_INPUT' },
    })
    const view = await client.get(run)
    expect(view).toMatchObject({ state: 'failed', failure: 'invalid', attempt: 1 })
    expect(view?.reason).toContain(`${path}: `)
  }
  expect(handled).toEqual(['ada@example.org'])
})

test('RUN-17: the input is stored as it was given, and parsed anew at each claim', async () => {
  const client = openClient(database)
  const parsed: unknown[] = []
  const lenient = defineWorkflow({
    name: 'lenient',
    input: z.object({ n: z.string().transform(Number).pipe(z.number()), note: z.string().default('none') }),
    retry: { initial: 1 },
    handler: (input, run) => {
      parsed.push(input)
      return run.attempt === 1 ? run.retry(0) : 'done'
    },
  })
  const started = await client.start(lenient, { n: '42' })
  await startWorker(database, { workflows: [lenient] })
  expect(await client.result(started)).toBe('done')
  expect(parsed).toEqual([
    { n: 42, note: 'none' },
    { n: 42, note: 'none' },
  ])
  expect(await client.get(started)).toMatchObject({ input: { n: '42' } })
})
