import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { pathWithPsql } from '../support/psql.ts'
import { isPointless } from '../support/variant.ts'
import { openClient } from '../support/worker.ts'

const database = useDatabase()
const script = fileURLToPath(new URL('../../examples/worker.sh', import.meta.url))

// What a workflow's handler is does not matter where it is never run.
const handler = (): never => {
  throw new Error('It runs elsewhere.')
}
const measure = defineWorkflow({ name: 'measure', input: z.unknown(), handler })
const refuse = defineWorkflow({ name: 'refuse', input: z.unknown(), retry: { initial: 0 }, handler })

test.skipIf(isPointless('odd-schema', 'the example is for the default schema'))(
  'LEASE-13: the worker of the examples, in shell, runs what it claims by the SQL functions',
  async () => {
    const client = openClient(database)
    const [quoted, refused] = [await client.start(measure, `it's "so"\n\t$1 \\ é`), await client.start(refuse)]
    const spaced = await database.query<{ id: string }>(`select id from holdfast.start('measure', $1)`, [
      '{\n  "spaced":\t"out"\n}',
    ])
    const worker = spawn('sh', [script], {
      env: { ...process.env, DATABASE_URL: database.connectionString, PATH: pathWithPsql },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    const ended = once(worker, 'exit')
    try {
      expect(await client.result<unknown>(quoted)).toEqual({ bytes: 25 })
      expect(await client.result(spaced.rows[0]!.id)).toEqual({ bytes: 21 })
      await expect(client.result(refused)).rejects.toMatchObject({ failure: 'rejected' })
      expect(await client.get(refused)).toMatchObject({ attempt: 2, reason: 'refused at attempt 2' })
    } finally {
      worker.kill()
    }
    expect(await ended).toEqual([0, null])
  },
)
