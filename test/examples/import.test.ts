import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importFile } from '../../examples/import/import-file.ts'
import { contentsOf, countRows, openRows, rowsByProcess } from '../../examples/import/rows.ts'
import { splitFile } from '../../examples/import/split-file.ts'
import { writeCsv } from '../../examples/import/write-csv.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'

const database = useDatabase()
const module = new URL('../../examples/import/import-file.ts', import.meta.url)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-import-'))
  await openRows(database.pool)
})
afterAll(() => rm(folder, { recursive: true }))

test('100,000 rows are imported once each, though the worker is killed midway', { timeout: 60_000 }, async () => {
  const path = join(folder, 'large.csv')
  const [written, ...workers] = await Promise.all([
    writeCsv(path, 100_000),
    forkWorker(database, { module }),
    forkWorker(database, { module }),
  ])
  const client = openClient(database)
  const started = await client.start(importFile, { path })
  await expect.poll(() => countRows(database.pool)).toBeGreaterThanOrEqual(30_000)
  const [{ pid } = { pid: 0 }] = await rowsByProcess(database.pool)
  await workers.find((worker) => worker.pid === pid)?.kill()

  expect(await client.result(started)).toEqual({ rows: 100_000 })
  expect(await contentsOf(database.pool)).toEqual(written)
  const writers = await rowsByProcess(database.pool)
  expect(writers.map((writer) => writer.pid)).toEqual([pid, workers.find((worker) => worker.pid !== pid)?.pid])
  // Whole chunks: none was left half by the kill.
  for (const { count } of writers) expect(count % 1_000).toBe(0)
})

test('chunks have so many records, and the last what is left', async () => {
  const path = join(folder, 'small.csv')
  await writeCsv(path, 25)
  const chunks = await splitFile(path, 10)
  expect(chunks).toHaveLength(3)
  for (const [index, { start }] of chunks.entries()) expect(start).toBe(chunks[index - 1]?.end ?? 14)
})
