import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { watch } from './sessions.ts'

const database = useDatabase()

test('RUN-05: of keyed starts by 40 clients at once, each that made a run sees it end by its own ticket', async () => {
  const watcher = await watch(database)
  const quick = defineWorkflow({ name: 'quick', dedupe: 0, handler: (_, run) => run.id })
  await startWorker(database, { workflows: [quick] })
  await startWorker(database, { workflows: [quick] })
  const made: string[] = []
  let isOver = false
  const clients = Array.from({ length: 40 }, () => openClient(database))
  const starting = Promise.all(
    clients.map(async (client, place) => {
      for (let start = 0; start < 100; start += 1) {
        const key = String((place * 7 + start) % 10)
        const { id, created } = await client.start(quick, undefined, { key })
        if (created) made.push(id)
      }
    }),
  ).finally(() => void (isOver = true))

  let looks = 0
  while (!isOver) {
    const [row] = await watcher.query(
      `select
         (select count(*)::int from holdfast.runs r where r.state = 'waiting' and not exists (
           select from holdfast_queue._private_jobs t where t.key = r.id || ':' || r.token)) as lacking,
         (select coalesce(max(n), 0)::int <= 2 from (
           select count(*) as n from holdfast_queue._private_jobs t group by t.payload ->> 'run') per_run) as is_lean`,
    )
    expect(row).toEqual({ lacking: 0, is_lean: true })
    looks += 1
  }
  await starting
  expect(looks).toBeGreaterThan(10)
  expect(new Set(made).size).toBe(made.length)
  // Each key was had, freed by its run's end, and had again.
  expect(made.length).toBeGreaterThan(20)
  expect(await Promise.all(made.map((id) => clients[0]!.result<unknown>(id)))).toEqual(made)
  const rows = await watcher.query(
    `select count(*)::int as runs, bool_and(attempt = 1) as are_first
     from holdfast.runs`,
  )
  expect(rows).toEqual([{ runs: made.length, are_first: true }])
}, 60_000)
