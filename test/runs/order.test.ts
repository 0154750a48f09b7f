import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type StartOptions, type Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface Noting {
  readonly workflow: Workflow<string>
  /** Labels of its runs, in the order in which they began. */
  readonly begun: readonly string[]
}

function noting(name: string): Noting {
  const begun: string[] = []
  const workflow = defineWorkflow({ name, input: z.string(), handler: (label) => void begun.push(label) })
  return { workflow, begun }
}

/** Holds slots until it is let go. */
function blocking(name: string): { workflow: Workflow<undefined>; entered: Promise<void>; letGo: () => void } {
  const [entered, gone] = [signal(), signal()]
  const workflow = defineWorkflow({
    name,
    handler: async () => {
      entered.give()
      await gone.promise
    },
  })
  return { workflow, entered: entered.promise, letGo: () => gone.give() }
}

const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000)

const inOrder: readonly (readonly [string, StartOptions])[] = [
  ['highest, due earlier', { priority: 32_767, at: minutesAgo(30) }],
  ['highest', { priority: 32_767, at: minutesAgo(10) }],
  ['next to highest, due long ago', { priority: 32_766, at: minutesAgo(300) }],
  ['above the default', { priority: 1 }],
  ['default, due an hour ago', { at: minutesAgo(60) }],
  ['default, due half an hour ago', { priority: 0, at: minutesAgo(30) }],
  ['default, due now', {}],
  ['below the default, due long ago', { priority: -1, at: minutesAgo(300) }],
  ['next to lowest', { priority: -32_767 }],
  ['lowest, due long ago', { priority: -32_768, at: minutesAgo(300) }],
]

test('RUN-04: one slot takes runs by priority, then by due time', async () => {
  const client = openClient(database)
  const { workflow, begun } = noting('mixed')
  const started = []
  for (const [label, options] of inOrder.toReversed()) started.push(await client.start(workflow, label, options))
  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  await Promise.all(started.map((run) => client.result(run)))
  expect(begun).toEqual(inOrder.map(([label]) => label))
})

test.each([
  ['due now', {}],
  ['due at the same instant', { at: minutesAgo(3) }],
])('RUN-04: one slot takes runs that were started at once by their ids: %s', async (name, options) => {
  const client = openClient(database)
  const { workflow, begun } = noting(name)
  await client.start(workflow, 'puts the definition on record', { delay: '1h' })
  const ids = Array.from({ length: 20 }, newId)
  const started = await Promise.all(ids.toReversed().map((id) => client.start(workflow, id, { ...options, id })))
  const { rows } = await database.query(`select distinct created_at from holdfast.runs where id = any($1)`, [ids])
  expect(rows).toHaveLength(1)

  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  await Promise.all(started.map((run) => client.result(run)))
  expect(begun).toEqual(ids)
})

test('RUN-04: one slot takes runs that come due at the same instant by priority, then by their ids', async () => {
  const client = openClient(database)
  const { workflow, begun } = noting('due together')
  const at = new Date(Date.now() + 700)
  const ids = Array.from({ length: 10 }, newId)
  const high = newId()
  const started = []
  for (const id of ids.toReversed()) started.push(await client.start(workflow, id, { id, at }))
  started.push(await client.start(workflow, high, { id: high, at, priority: 1 }))
  expect(started.map(({ state }) => state)).toEqual(started.map(() => 'scheduled'))

  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  await Promise.all(started.map((run) => client.result(run)))
  expect(begun).toEqual([high, ...ids])
})

test('RUN-04: a run that comes while the slot is taken goes before those that waited with less priority', async () => {
  const client = openClient(database)
  const { workflow, begun } = noting('waits')
  const { workflow: blocker, entered, letGo } = blocking('blocks one')
  await startWorker(database, { workflows: [workflow, blocker], concurrency: 1 })
  await client.start(blocker)
  await entered
  const started = []
  for (const [label, priority] of [
    ['low', -5],
    ['middle', 0],
    ['high', 5],
  ] as const) {
    started.push(await client.start(workflow, label, { priority }))
  }
  letGo()
  await Promise.all(started.map((run) => client.result(run)))
  expect(begun).toEqual(['high', 'middle', 'low'])
})

test('RUN-04: with more slots, a run is overtaken by no more than the tickets already fetched', async () => {
  const slots = 4
  const client = openClient(database)
  const { workflow, begun } = noting('crowd')
  const blockers = Array.from({ length: slots }, (_, index) => blocking(`blocks ${index}`))
  await startWorker(database, { workflows: [workflow, ...blockers.map((each) => each.workflow)], concurrency: slots })
  for (const blocker of blockers) await client.start(blocker.workflow)
  await Promise.all(blockers.map((blocker) => blocker.entered))
  const crowd = await Promise.all(Array.from({ length: 50 }, (_, index) => client.start(workflow, `low ${index}`)))
  const high = await client.start(workflow, 'high', { priority: 1 })
  for (const blocker of blockers) blocker.letGo()
  await Promise.all([high, ...crowd].map((run) => client.result(run)))
  // As many as there are slots may have been fetched, and as many more may be on their way beside it.
  expect(begun.indexOf('high')).toBeLessThan(2 * slots)
})
