import { expect, test } from 'vitest'
import { defineWorkflow, NonRetryableError } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

/** The rollbacks of a run are found by a replay of its handler, which may be another by then. */

const database = useDatabase()

test('WAIT-06: a place that has got versions since hides no rollback', async () => {
  const client = openClient(database)
  const undone: string[] = []
  let isOld = true
  const saga = defineWorkflow({
    name: 'is deployed anew',
    handler: async (_, run) => {
      const rollback = (name: string): void => void undone.push(name)
      await run.step('first', () => 'first', { rollback })
      if (!isOld && (await run.version('place', 1, 2)) === 2) await run.step('newer', () => 'newer')
      await run.step('last', () => 'last', { rollback })
      isOld = false
      return run.fail('undo it')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await expect
    .poll(async () => (await client.get(started))?.rollback)
    .toMatchObject({ state: 'done', undone: ['last', 'first'] })
  expect(undone).toEqual(['last', 'first'])
})

test('WAIT-06: other promises that a handler awaits between steps lose no rollback', async () => {
  const client = openClient(database)
  const undone: string[] = []
  const saga = defineWorkflow({
    name: 'awaits other things',
    handler: async (_, run) => {
      for (const name of ['a', 'b', 'c']) {
        await run.step(name, () => name, { rollback: () => void undone.push(name) })
        await systemClock.sleep(20)
      }
      return run.fail('undo it')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
  expect(undone).toEqual(['c', 'b', 'a'])
})

test.each(['with', 'without'])(
  'WAIT-06: no body or child of the handler begins while its rollbacks are looked for, %s a step that was not kept beside them',
  async (how) => {
    const client = openClient(database)
    const bodies: string[] = []
    const undone: string[] = []
    let isFailed = false
    const child = defineWorkflow({ name: `child ${how}`, handler: () => void bodies.push('child') })
    const saga = defineWorkflow({
      name: `has more to do ${how}`,
      maxAttempts: 1,
      handler: async (_, run) => {
        const rollback = (name: string): void => void undone.push(name)
        const first = run.step('first', () => 'first', { rollback })
        if (how === 'with') {
          const beside = run.step('beside', async () => {
            bodies.push('beside')
            await first
            throw new Error('beside')
          })
          beside.catch(() => undefined)
        }
        await first
        await run.step('last', () => 'last', { rollback })
        if (!isFailed) {
          isFailed = true
          throw new NonRetryableError('no')
        }
        // Code that was not there when the run failed.
        await Promise.all([
          run.step('fresh', () => bodies.push('fresh')),
          run.transaction('fresh tx', async () => await Promise.resolve(bodies.push('fresh tx'))),
          run.start(child),
        ])
      },
    })
    await startWorker(database, { workflows: [saga, child] })
    const started = await client.start(saga)
    await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
    await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
    expect(undone).toEqual(['last', 'first'])
    expect(bodies).toEqual(how === 'with' ? ['beside'] : [])
    const { rows } = await database.query(`select from holdfast.runs where workflow = $1`, [child.name])
    expect(rows).toEqual([])
  },
)
