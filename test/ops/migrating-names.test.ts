import { expect, test } from 'vitest'
import { createClient, createWorker, defineWorkflow, migrate, type ConfigError } from '../../src/index.ts'
import { runCli } from '../cli/run-cli.ts'
import { emptyDatabase } from '../support/database.ts'
import { optionsFor, type Variant } from '../support/variant.ts'
import { doEverything } from './everything.ts'

/** With `_queue` behind it, the longest has as many bytes as Postgres lets a name have. */
const odd = [`x"; drop table users; --`, `Upper 'Case' "$1" \\ %s :channel holdfast.`, `å${'x'.repeat(55)}`]

test.each(odd)('OPS-05: everything that an application does works in a schema named %j', async (schema) => {
  const database = await emptyDatabase()
  try {
    await database.query('create table public.users (name text)')
    const plain: Variant = { name: 'plain', schema }
    await doEverything(database, optionsFor(database, plain))
    const { rows } = await database.query<{ nspname: string }>(
      `select nspname from pg_namespace where nspname !~ '^(pg_|information)'`,
    )
    expect(rows.map(({ nspname }) => nspname).toSorted()).toEqual([schema, `${schema}_queue`, 'public'].toSorted())
    const tables = await database.query(`select relname from pg_class where relnamespace = 'public'::regnamespace`)
    expect(tables.rows.map(({ relname }) => relname as string).toSorted()).toEqual(['marks', 'users'])
  } finally {
    await database.drop()
  }
})

const bad = [
  ['empty', ''],
  ['too long', 'x'.repeat(58)],
  ['too long in bytes', 'å'.repeat(29)],
  ['with U+0000', 'a\0b'],
  ["Postgres' own", 'pg_mine'],
] as const

test.each(bad)('OPS-05: a schema name that is %s is refused before anything is asked', async (_, schema) => {
  const where = { connectionString: 'postgres://nobody@127.0.0.1:1/nowhere', schema }
  const workflows = [defineWorkflow({ name: 'hello', handler: () => 'hello' })]
  const refusal = expect.objectContaining({ code: 'CONFIG', field: 'schema' }) as ConfigError
  expect(() => createClient(where)).toThrow(refusal)
  expect(() => createWorker({ ...where, workflows })).toThrow(refusal)
  await expect(migrate(where)).rejects.toThrow(refusal)
  // No argument of a process can hold U+0000.
  if (schema.includes('\0')) return
  const result = await runCli(['migrate', '--database-url', where.connectionString, '--schema', schema])
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('[CONFIG]') as string })
})
