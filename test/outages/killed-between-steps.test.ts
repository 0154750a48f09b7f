import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { forkWorker, type ForkedWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { diesOften, works } from './working-workflows.ts'

const database = useDatabase()
const module = new URL('working-workflows.ts', import.meta.url)

test('RUN-02: a run whose worker is killed after each of its steps in turn ends, as do those behind it at one slot', async () => {
  const client = openClient(database)
  const first = await client.start(diesOften)
  const behind = await Promise.all(Array.from({ length: 10 }, () => client.start(works)))
  const workers: ForkedWorker[] = []
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const worker = await forkWorker(database, { module, concurrency: 1 })
    workers.push(worker)
    expect(await worker.hear('kept', first.id)).toMatchObject({ attempt, value: attempt })
    await worker.kill()
  }
  await forkWorker(database, { module, concurrency: 1 })
  expect(await client.result(first)).toBe(6)
  expect(await Promise.all(behind.map((run) => client.result(run)))).toEqual(behind.map(() => 1))
  const bodies = workers.flatMap((worker) => worker.told).filter(({ word }) => word === 'body')
  expect(bodies.map(({ value, attempt }) => [value, attempt])).toEqual([1, 2, 3, 4, 5].map((n) => [n, n]))
})
