import pg from 'pg'
import { expect, inject, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { createDatabase } from '../support/database.ts'
import { openClient, recordingLogger, signal, startWorker } from '../support/worker.ts'

test('a queue that ends, and cannot be started again, is tried until it can, and ends no process', async () => {
  const database = await createDatabase()
  const admin = new pg.Client({ connectionString: inject('testServer').connectionString })
  await admin.connect()
  const { name } = database
  const away = `${name}_away`
  try {
    const [begun, ends] = [signal(), signal()]
    const workflow = defineWorkflow({
      name: 'outlasts its database',
      lease: '1.5s',
      handler: async (_, run) => {
        begun.give()
        await ends.promise
        return run.attempt
      },
    })
    const logger = recordingLogger()
    const worker = await startWorker(database, { workflows: [workflow], logger })
    const client = openClient(database)
    const started = await client.start(workflow)
    await begun.promise

    // Not a loss of connection, which would be waited out: the server says that there is no such database.
    await admin.query(`alter database ${name} allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await vi.waitFor(() => admin.query(`alter database ${name} rename to ${away}`), 15_000)
    ends.give()
    const said = (text: string): boolean => logger.lines.some(({ message }) => message.includes(text))
    await vi.waitFor(() => expect(said('The queue could not be started again')).toBe(true), { timeout: 10_000 })
    await admin.query(`alter database ${away} rename to ${name}`)
    await admin.query(`alter database ${name} allow_connections true`)

    expect(await client.result(started)).toBe(1)
    await worker.stop()
    await client.close()
  } finally {
    await admin.end()
    await database.drop()
  }
})
