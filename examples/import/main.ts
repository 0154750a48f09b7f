/**
 * 100,000 rows go from a CSV file into a table. Half-way the worker that has the run is killed, and another goes on. README.md tells how to read
 * what this prints.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import colors from 'picocolors'
import { LiveLine } from '../support/live-line.ts'
import { printChecks, printTable } from '../support/print.ts'
import { runExample } from '../support/run-example.ts'
import { WorkerProcess } from '../support/worker-process.ts'
import { importFile } from './import-file.ts'
import { contentsOf, countRows, openRows, rowsByProcess } from './rows.ts'
import { judge } from './verdict.ts'
import { writeCsv } from './write-csv.ts'

const workerFile = new URL('worker.ts', import.meta.url)
const rowCount = 100_000
const rowsBeforeTheKill = 40_000

await runExample('import', async ({ connectionString, pool, client, cleanups, addWorker, giveUp }) => {
  await openRows(pool)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-import-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const path = join(folder, 'rows.csv')
  const written = await writeCsv(path, rowCount)
  const environment = { DATABASE_URL: connectionString }
  const workers = ['one', 'two'].map((name) => addWorker(new WorkerProcess(name, workerFile, environment)))
  await Promise.all(workers.map((worker) => worker.ready()))
  const run = await client.start(importFile, { path }, { key: path })
  console.log(
    `A file of ${rowCount} rows is imported by one of two workers, which is killed after ${rowsBeforeTheKill}.\n`,
  )

  const live = new LiveLine()
  cleanups.push(() => live.end())
  await show(pool, live, (count) => count >= rowsBeforeTheKill)
  const [writer] = await rowsByProcess(pool)
  const victim = workers.find(({ pid }) => pid === writer?.pid)
  victim?.kill()
  live.note(colors.yellow(`Worker ${victim?.name} is killed (SIGKILL). The other will notice, and go on.`))
  show(pool, live, (count) => count >= rowCount).catch(giveUp)
  const { rows } = await client.result(run)
  live.end()
  await Promise.all(workers.map((worker) => worker.stop()))

  const processes = await rowsByProcess(pool)
  const imported = await contentsOf(pool)
  printTable('Rows, by the database', [
    ['in the table', imported.count, `checksum ${imported.checksum}`],
    ...processes.map(
      ({ pid, count }) => [`  by worker ${workers.find((worker) => worker.pid === pid)?.name}`, count] as const,
    ),
    ['in the file', written.count, `checksum ${written.checksum}`],
    ["by the run's output", rows],
  ])
  const checks = judge({ written, imported, processes, rows })
  printChecks(checks)
  return checks
})

/** Shows how many rows are there, until there are enough. */
async function show(pool: Pool, live: LiveLine, isEnough: (count: number) => boolean): Promise<void> {
  for (;;) {
    const count = await countRows(pool)
    live.update(`${count} of ${rowCount} rows are in the table`)
    if (isEnough(count)) return
    await delay(20)
  }
}
