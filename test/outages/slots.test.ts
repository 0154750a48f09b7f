import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, UnserializableError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const count = 100

test('OPS-01: a run that cannot begin gives its slot back: an input that fits no more, an unknown workflow, a handler that throws', async () => {
  const client = openClient(database)
  const changed = defineWorkflow({ name: 'changed', input: z.object({ a: z.string() }), handler: () => undefined })
  const changedSince = defineWorkflow({ name: 'changed', input: z.object({ b: z.number() }), handler: () => undefined })
  const broken = defineWorkflow({ name: 'broken', input: z.unknown(), handler: () => undefined })
  const nobodys = defineWorkflow({ name: 'nobodys', handler: () => undefined })
  const throws = defineWorkflow({
    name: 'throws',
    maxAttempts: 1,
    handler: () => {
      throw new Error('before its first step')
    },
  })
  const start = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, work))
  const invalid = [
    ...(await start(() => client.start(changed, { a: 'x' }))),
    ...(await start(() => client.start(broken, 1))),
  ]
  // Nothing here can read it back.
  await database.query(`update holdfast.runs set input_types = 'of another release'
    where workflow = 'broken'`)
  const unknown = await start(() => client.start(nobodys))
  const thrown = await start(() => client.start(throws))

  const inside = new Set<string>()
  const all = signal()
  const together = defineWorkflow({
    name: 'together',
    priority: -1,
    handler: async (_, run) => {
      inside.add(run.id)
      if (inside.size === 4) all.give()
      await all.promise
    },
  })
  await startWorker(database, { workflows: [changedSince, broken, throws, together], concurrency: 4 })
  const failures = await Promise.all(
    [...invalid, ...thrown].map((run) =>
      client.result(run).then(String, (error: { failure?: string }) => error.failure),
    ),
  )
  expect(failures).toEqual([
    ...Array.from({ length: count }, () => 'invalid'),
    ...Array.from({ length: count }, () => 'rejected'),
    ...Array.from({ length: count }, () => 'attempts_exhausted'),
  ])
  // What cannot be read back hides neither its run nor the others of a list.
  expect((await client.list({ workflow: broken.name })).items.map(({ input }) => input)).toEqual(
    Array.from({ length: 50 }, () => expect.any(UnserializableError) as unknown),
  )
  // Four that wait for each other need all four slots.
  const last = await Promise.all(Array.from({ length: 4 }, () => client.start(together)))
  await Promise.all(last.map((run) => client.result(run)))
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select task_identifier as task, count(*)::int as tickets, count(locked_by)::int as locked, sum(attempts)::int as tries
       from holdfast_queue.jobs group by 1`,
    )
    expect(rows).toEqual([{ task: 'nobodys', tickets: count, locked: 0, tries: 0 }])
  }, 10_000)
  await startWorker(database, { workflows: [nobodys] })
  await Promise.all(unknown.map((run) => client.result(run)))
})
