import { beforeAll, expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError, type Queryable, type Run, type RunRef } from '../../src/index.ts'
import { loseLease } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { rowsOf, rowsTable, slowlyInserting } from './inserting.ts'

/** The rows of a run.transaction and its memo commit together, once. */

const database = useDatabase()
const module = new URL('inserting.ts', import.meta.url)

beforeAll(async () => {
  await database.query(rowsTable)
  await database.query('create table parents (id int primary key)')
  await database.query(
    'create table children (parent_id int not null references parents deferrable initially deferred)',
  )
})

async function insert(tx: Queryable, run: Run, label: string): Promise<void> {
  await tx.query('insert into public.rows values ($1, $2)', [run.id, label])
}

async function memosOf({ id }: RunRef): Promise<string[]> {
  const { rows } = await database.query<{ key: string }>(
    `select key from holdfast.steps where run_id = $1 and kind = 'answer' order by key`,
    [id],
  )
  return rows.map((row) => row.key)
}

test('STEP-05: a process killed between body and commit leaves nothing, and the next one commits once', async () => {
  const client = openClient(database)
  const killed = await forkWorker(database, { module })
  const run = await client.start(slowlyInserting)
  await killed.hear('inserted', run.id)
  await killed.kill()
  expect([await rowsOf(database, run.id), await memosOf(run)]).toEqual([[], []])

  const next = await forkWorker(database, { module })
  await next.hear('inserted', run.id)
  next.order(`commit ${run.id}`)
  expect(await client.result(run)).toBe('inserted by attempt 2')
  expect(await rowsOf(database, run.id)).toEqual(['attempt 2'])
})

const isAlone = isPointless('pool-of-2', 'half of that pool is one transaction at a time')

test.skipIf(isAlone)('STEP-05: a body whose run was taken over meanwhile is refused and undone', async () => {
  const [inBody, goOn] = [signal(), signal()]
  let refusal: unknown
  const workflow = defineWorkflow({
    name: 'taken over',
    lease: '1.5s',
    handler: async (_, run) => {
      try {
        return await run.transaction('insert', async (tx) => {
          await insert(tx, run, `attempt ${run.attempt}`)
          if (run.attempt > 1) return run.attempt
          inBody.give()
          await goOn.promise
          return run.attempt
        })
      } catch (error) {
        refusal = error
        throw error
      }
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow] })
  const run = await client.start(workflow)
  await inBody.promise
  await loseLease(database, run.id)
  expect(await client.result(run)).toBe(2)
  goOn.give()
  await expect.poll(() => refusal).toBeInstanceOf(LeaseLostError)
  await expect
    .poll(
      async () => (await database.query(`select from pg_stat_activity where state like 'idle in transaction%'`)).rows,
    )
    .toEqual([])
  expect(await rowsOf(database, run.id)).toEqual(['attempt 2'])
})

test('STEP-05: a constraint that refuses the commit is the failure of the step, with nothing kept', async () => {
  const errors: unknown[] = []
  const workflow = defineWorkflow({
    name: 'refused at commit',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run
        .transaction('insert', async (tx) => {
          await insert(tx, run, 'one')
          await tx.query('insert into public.children values (17)')
        })
        .catch((error: unknown) => errors.push(error))
      return await run.transaction('insert', async (tx) => {
        await insert(tx, run, 'two')
        return 'went on'
      })
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe('went on')
  expect(errors).toMatchObject([{ code: '23503' }])
  expect(await rowsOf(database, run.id)).toEqual(['two'])
  expect(await memosOf(run)).toEqual(['insert#2'])
})

test('STEP-05: a query that nobody awaited and that fails undoes the whole, and ends no process', async () => {
  const workflow = defineWorkflow({
    name: 'does not await',
    maxAttempts: 1,
    handler: (_, run) =>
      run.transaction('insert', async (tx) => {
        await insert(tx, run, 'one')
        void tx.query('select 1 / 0')
        return 'too early'
      }),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  await expect(client.result(run)).rejects.toMatchObject({ cause: { code: '22012' } })
  expect(await rowsOf(database, run.id)).toEqual([])
})

test.each(['commit', 'COMMIT;', ' rollback', 'begin', 'end', 'abort', 'start transaction', 'rollback and chain'])(
  'STEP-05: a body that says %j is refused, since rows would commit without their memo',
  async (statement) => {
    const workflow = defineWorkflow({
      name: 'ends it itself',
      maxAttempts: 1,
      handler: (_, run) =>
        run.transaction('insert', async (tx) => {
          await insert(tx, run, 'one')
          await tx.query(statement)
        }),
    })
    await startWorker(database, { workflows: [workflow] })
    const client = openClient(database)
    const run = await client.start(workflow)
    await expect(client.result(run)).rejects.toMatchObject({ cause: { code: 'ARGUMENT', field: 'tx' } })
    expect([await rowsOf(database, run.id), await memosOf(run)]).toEqual([[], []])
  },
)
