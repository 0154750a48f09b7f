import pg from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { schemaNames } from '../../src/db/schema-names.ts'
import { functionFiles, migrationFiles } from '../../src/db/sql-files.ts'
import { createClient, createWorker, defineWorkflow, type Client } from '../../src/index.ts'
import { jsonOf } from '../cli/run-cli.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { applyVariant, optionsFor, variants, type Variant } from '../support/variant.ts'

const migrations = migrationFiles().map(({ id, name }) => ({ id, name }))

/** An empty database in one of the settings of OPS-04, and what it says of its migrations afterwards. */
async function prepare(
  database: TestDatabase,
  variant: Variant,
): Promise<{ expectMigratedOnce: () => Promise<void>; close: () => Promise<void> }> {
  const session = new pg.Client({ connectionString: database.connectionString })
  await session.connect()
  await applyVariant(session, variant)
  const { quoted } = schemaNames(variant.schema)
  const expectMigratedOnce = async (): Promise<void> => {
    expect((await session.query(`select id, name from ${quoted}.migrations order by id`)).rows).toEqual(migrations)
    expect((await session.query(`select from ${quoted}.function_sets`)).rowCount).toBe(1)
    const functions = await session.query<{ proname: string }>(
      `select proname from pg_proc where pronamespace = $1::regnamespace`,
      [quoted],
    )
    expect(functions.rows.map(({ proname }) => proname).toSorted()).toEqual(functionFiles().map(({ name }) => name))
  }
  return { expectMigratedOnce, close: () => session.end() }
}

const settings = variants.map((variant) => [variant.name, variant] as const)

test.each(settings)(
  'OPS-05: ten processes that migrate an empty database at once all succeed: %s',
  async (_, variant) => {
    const database = await emptyDatabase()
    const { expectMigratedOnce, close } = await prepare(database, variant)
    try {
      const schema = ['--schema', 'schema' in variant ? variant.schema : 'holdfast']
      const results = await Promise.all(
        Array.from({ length: 10 }, () =>
          jsonOf<{ applied: string[]; isFunctionsReplaced: boolean }>(['migrate', ...schema], {
            DATABASE_URL: database.connectionString,
          }),
        ),
      )
      expect(results.flatMap(({ applied }) => applied)).toEqual(migrations.map(({ name }) => name))
      expect(results.filter(({ isFunctionsReplaced }) => isFunctionsReplaced)).toHaveLength(1)
      await expectMigratedOnce()
    } finally {
      await close()
      await database.drop()
    }
  },
)

test.each(settings)(
  'OPS-05: ten clients and ten workers that start at once on an empty database all work: %s',
  async (_, variant) => {
    const workflow = defineWorkflow({ name: 'numbered', input: z.number(), handler: (n) => n })
    const database = await emptyDatabase()
    const { expectMigratedOnce, close } = await prepare(database, variant)
    try {
      const ten = Array.from({ length: 10 }, (__, number) => number)
      const clients = ten.map(() => createClient(optionsFor(database, variant)))
      const workers = ten.map(() => createWorker({ ...optionsFor(database, variant), workflows: [workflow] }))
      const [runs] = await Promise.all([
        Promise.all(clients.map((client, number) => client.start(workflow, number))),
        Promise.all(workers.map((worker) => worker.start())),
      ])
      expect(await Promise.all(runs.map((run) => (clients[0] as Client).result(run)))).toEqual(ten)
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all(clients.map((client) => client.close()))
      await expectMigratedOnce()
    } finally {
      await close()
      await database.drop()
    }
  },
)
