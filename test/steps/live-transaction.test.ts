import { beforeAll, expect, test } from 'vitest'
import { ClosedError, defineWorkflow, LeaseLostError, type Queryable, type Workflow } from '../../src/index.ts'
import { loseWorker, quickTimings } from '../attempts/record.ts'
import { claimByHand, memo } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

beforeAll(async () => {
  await database.query('create table written (run_id uuid, body integer)')
})

async function write(tx: Queryable, id: string, body: number): Promise<void> {
  await tx.query('insert into public.written values ($1, $2)', [id, body])
}

function fail(why: string): never {
  throw new Error(why)
}

/** Which of a run's bodies left rows, and the answers that were kept. */
async function leftBy(id: string): Promise<{ bodies: number[]; answers: unknown[] }> {
  const { rows } = await database.query<{ bodies: number[]; answers: unknown[] }>(
    `select coalesce((select json_agg(body order by body) from written where run_id = $1), '[]') as bodies,
       coalesce((select json_agg(value) from holdfast.steps where run_id = $1), '[]') as answers`,
    [id],
  )
  return rows[0] ?? { bodies: [], answers: [] }
}

/** A workflow of one transaction, whose body writes a row and answers with its number. */
function writing(name: string, then: (tx: Queryable, body: number) => unknown): Workflow<undefined> {
  let bodies = 0
  return defineWorkflow({
    name,
    retry: { initial: 0 },
    handler: (_, run) =>
      run.transaction('write', async (tx) => {
        bodies += 1
        const body = bodies
        await write(tx, run.id, body)
        await then(tx, body)
        return body
      }),
  })
}

test('STEP-05: rows and answer are there together after a handler that throws, and are not made again', async () => {
  let bodies = 0
  const workflow = defineWorkflow({
    name: 'throws after',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const answer = await run.transaction('write', async (tx) => {
        bodies += 1
        await write(tx, run.id, bodies)
        return bodies
      })
      if (run.attempt === 1) throw new Error('after')
      return answer
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toBe(1)
  expect(await leftBy(id)).toEqual({ bodies: [1], answers: [1] })
})

test('STEP-05: neither rows nor answer are there after a body that throws', async () => {
  const workflow = writing('throws', (_, body) => (body === 1 ? Promise.reject(new Error('body')) : undefined))
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toBe(2)
  expect(await client.get(id)).toMatchObject({ attempt: 2 })
  expect(await leftBy(id)).toEqual({ bodies: [2], answers: [2] })
})

test('STEP-05: a body whose session is terminated runs again in the same attempt, and leaves rows once', async () => {
  const workflow = writing('terminated', async (tx, body) => {
    if (body > 1) return
    const { rows } = await tx.query('select pg_backend_pid() as pid')
    await database.query('select pg_terminate_backend($1, 5000)', [(rows[0] as { pid: number }).pid])
    await tx.query('select 1').catch(() => undefined)
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toBe(2)
  expect(await client.get(id)).toMatchObject({ attempt: 1 })
  expect(await leftBy(id)).toEqual({ bodies: [2], answers: [2] })
})

test('STEP-05: a body whose run is taken over meanwhile is refused, and its rows are undone', async () => {
  const { id } = await openClient(database).start(defineWorkflow({ name: 'taken', handler: () => undefined }))
  const first = await claimByHand(database, id)
  const inBody = async (tx: Queryable): Promise<ReturnType<typeof memo>> => {
    await write(tx, id, 1)
    await loseWorker(database, { id })
    return memo('write', '1')
  }
  await expect(first.journal.transact(inBody)).rejects.toBeInstanceOf(LeaseLostError)
  expect(await leftBy(id)).toEqual({ bodies: [], answers: [] })
  const second = await claimByHand(database, id)
  await second.journal.transact(async (tx) => {
    await write(tx, id, 2)
    return memo('write', '2')
  })
  expect(await leftBy(id)).toEqual({ bodies: [2], answers: [2] })
})

test.each(['40001', '40P01'])('STEP-05: a body undone with %s runs again, whatever it made of that', async (code) => {
  const workflow = writing(`undone ${code}`, async (tx, body) => {
    if (body > 3) return
    const asked = tx.query(`do $$ begin raise exception 'once more' using errcode = '${code}'; end $$`)
    if (body === 1) await asked
    if (body === 2) await asked.catch(() => undefined)
    if (body === 3) await asked.catch(() => fail('its own words'))
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toBe(4)
  expect(await client.get(id)).toMatchObject({ attempt: 1 })
  expect(await leftBy(id)).toEqual({ bodies: [4], answers: [4] })
})

test('STEP-05: a body that goes on after a failed statement fails with what that met; after a savepoint it does not', async () => {
  const workflow = writing('aborted', async (tx, body) => {
    if (body === 2) await tx.query('savepoint before')
    await tx.query('select 1 / 0').catch(() => undefined)
    if (body === 2) await tx.query('rollback to savepoint before')
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toBe(2)
  const { rows } = await database.query('select reason, error from holdfast.claims where run_id = $1', [id])
  expect(rows).toMatchObject([{ reason: 'division by zero', error: { code: '22012' } }])
  expect(await leftBy(id)).toEqual({ bodies: [2], answers: [2] })
})

test('STEP-05: queries after the body has ended are refused, and so is ending the transaction in it', async () => {
  const workflow = defineWorkflow({
    name: 'late queries',
    handler: async (_, run) => {
      const kept: Queryable[] = []
      const refused = await run.transaction('write', async (tx) => {
        kept.push(tx)
        return await tx.query('commit').catch((error: { code: string }) => error.code)
      })
      const late: unknown = await kept[0]
        ?.query('insert into public.written values ($1, 9)', [run.id])
        .catch((e: unknown) => e)
      return [refused, late instanceof ClosedError]
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toEqual(['ARGUMENT', true])
  expect((await leftBy(id)).bodies).toEqual([])
})

test('STEP-05: at most half the pool is in transactions, so that steps beside them are kept', async () => {
  const half = (variant.poolSize ?? 4) / 2
  const [full, beside] = [signal(), signal()]
  let [now, most] = [0, 0]
  const workflow = defineWorkflow({
    name: 'half the pool',
    handler: async (_, run) => {
      const all = Array.from({ length: 6 }, (__, index) =>
        run.transaction('write', async (tx) => {
          now += 1
          most = Math.max(most, now)
          if (now === half) full.give()
          await write(tx, run.id, index)
          await beside.promise
          now -= 1
          return index
        }),
      )
      await full.promise
      const answer = await run.step('beside', () => 'kept')
      beside.give()
      return [answer, await Promise.all(all)]
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], poolSize: 4, timings: quickTimings })
  const { id } = await client.start(workflow)
  expect(await client.result(id)).toEqual(['kept', [0, 1, 2, 3, 4, 5]])
  expect(most).toBe(half)
  expect((await leftBy(id)).bodies).toEqual([0, 1, 2, 3, 4, 5])
})
