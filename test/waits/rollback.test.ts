import { expect, test } from 'vitest'
import { defineWorkflow, NonRetryableError, type Run, type RunView } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, loseClaim } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

type Ended = Pick<RunView, 'rollback'>['rollback']

/** Keeps two steps that can be undone and one that cannot, then does what `last` says. */
function saga(
  name: string,
  last: (run: Run) => unknown,
  options: { maxAttempts?: number; deadline?: string; timeout?: string } = {},
) {
  const undone: string[] = []
  const bodies: string[] = []
  const undo = (answer: string): void => void undone.push(answer)
  const workflow = defineWorkflow({
    name,
    retry: { initial: '10ms', jitter: 0 },
    lease: '1.5s',
    ...options,
    handler: async (_, run) => {
      const step = (key: string, rollback?: typeof undo): Promise<string> =>
        run.step(
          key,
          () => {
            bodies.push(key)
            return `answer of ${key}`
          },
          { rollback },
        )
      await step('book', undo)
      await step('note')
      await step('pay', undo)
      const ended = await last(run)
      await step('never', undo)
      return ended
    },
  })
  return { workflow, undone, bodies }
}

const causes: readonly (readonly [
  string,
  (run: Run) => unknown,
  { maxAttempts?: number; deadline?: string; timeout?: string },
])[] = [
  ['rejected', () => Promise.reject(new NonRetryableError('no')), {}],
  ['attempts_exhausted', () => Promise.reject(new Error('no')), { maxAttempts: 2 }],
  ['deadline', (run) => run.sleep('too long', '1h'), { deadline: '1.5s' }],
  ['deadline', (run) => run.step('too long', () => new Promise(() => undefined)), { deadline: '1.5s' }],
  ['timeout', (run) => run.step('too long', () => new Promise(() => undefined)), { maxAttempts: 1, timeout: '300ms' }],
]

test.each(causes)(
  'WAIT-06: after a run has failed (%s) its kept steps are undone, the last one first',
  async (failure, last, options) => {
    const client = openClient(database)
    const { workflow, undone, bodies } = saga(`saga ${causes.findIndex((cause) => cause[1] === last)}`, last, options)
    await startWorker(database, { workflows: [workflow] })
    const started = await client.start(workflow)
    await expect(client.result(started)).rejects.toMatchObject({ failure })
    await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
    expect((await client.get(started))?.rollback).toEqual<Ended>({
      run: expect.any(String) as string,
      state: 'done',
      undone: ['pay', 'book'],
      failed: [],
    })
    expect(undone).toEqual(['answer of pay', 'answer of book'])
    expect(bodies).toEqual(['book', 'note', 'pay'])
  },
)

test('WAIT-06: steps of a run whose worker was lost on its last attempt are undone', async () => {
  const client = openClient(database)
  const { workflow, undone } = saga('lost', (run) => run.step('hang', () => new Promise(() => undefined)), {
    maxAttempts: 1,
  })
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await expect
    .poll(async () => (await database.query('select from holdfast.steps where run_id = $1', [started.id])).rows.length)
    .toBe(3)
  await loseClaim(database, started.id)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'lease_expired' })
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
  expect(undone).toEqual(['answer of pay', 'answer of book'])
})

test('WAIT-06: kept steps of a cancelled run are undone, also while it sleeps or waits for a worker', async () => {
  const client = openClient(database)
  const { workflow, undone, bodies } = saga('cancelled', (run) => run.sleep('long', '1h'))
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await becomes(client, started, 'suspended')
  await client.cancel(started)
  await expect
    .poll(async () => (await client.get(started))?.rollback)
    .toMatchObject({ state: 'done', undone: ['pay', 'book'] })
  expect(undone).toEqual(['answer of pay', 'answer of book'])
  expect(bodies).toEqual(['book', 'note', 'pay'])
  expect((await client.get(started))?.state).toBe('cancelled')
  const { rollback } = (await client.get(started)) ?? {}
  expect(await client.get(rollback?.run ?? '')).toMatchObject({ undoes: started.id, parentId: started.id })
})

test('WAIT-06: a run that is done, or kept nothing that can be undone, undoes nothing', async () => {
  const client = openClient(database)
  const { workflow, undone } = saga('done', () => 'done')
  const plain = defineWorkflow({
    name: 'plain',
    handler: async (_, run) => {
      await run.step('kept', () => 1)
      return run.fail('no')
    },
  })
  await startWorker(database, { workflows: [workflow, plain] })
  const [done, failed] = [await client.start(workflow), await client.start(plain)]
  expect(await client.result(done)).toBe('done')
  await expect(client.result(failed)).rejects.toMatchObject({ failure: 'rejected' })
  for (const run of [done, failed]) expect((await client.get(run))?.rollback).toBeUndefined()
  expect(undone).toEqual([])
})

test('WAIT-06: parallel steps, those of items and of one name are undone, each with its own answer', async () => {
  const client = openClient(database)
  const undone: string[] = []
  const rollback = (answer: string, { key }: { readonly key: string }): void => void undone.push(`${key}=${answer}`)
  const many = defineWorkflow({
    name: 'many',
    handler: async (_, run) => {
      await Promise.all(['a', 'b'].map((name) => run.step(name, () => name, { rollback })))
      await run.map('import', ['x', 'y'], async (item) => {
        await run.step('save', () => item, { rollback })
        await run.transaction('write', async () => await Promise.resolve(`${item}!`), { rollback })
      })
      await run.step('a', () => 'second', { rollback })
      return run.fail('all of it')
    },
  })
  await startWorker(database, { workflows: [many] })
  const started = await client.start(many)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
  const { rows } = await database.query<{ key: string }>(
    'select key from holdfast.steps where run_id = $1 order by seq desc',
    [started.id],
  )
  const inOrder = rows.map(({ key }) => key)
  expect((await client.get(started))?.rollback?.undone).toEqual(inOrder)
  expect(undone.map((each) => each.split('=')[0])).toEqual(inOrder)
  expect(undone.toSorted()).toEqual([
    'a#2=second',
    'a=a',
    'b=b',
    'import[0]/save=x',
    'import[0]/write=x!',
    'import[1]/save=y',
    'import[1]/write=y!',
  ])
})
