import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { jsonOf, runCli } from './run-cli.ts'

const migrations = readdirSync(new URL('../../sql/migrations', import.meta.url)).map((name) => name.replace('.sql', ''))

test('migrate brings an empty database to this release, and says when there is nothing to do', async () => {
  const empty = await emptyDatabase()
  try {
    const environment = { DATABASE_URL: empty.connectionString }
    expect(await runCli(['migrate'], environment)).toMatchObject({
      code: 0,
      stdout: `Applied ${migrations.join(', ')}.\n`,
      stderr: '',
    })
    expect(await runCli(['migrate'], environment)).toMatchObject({ code: 0, stdout: 'The schema is up to date.\n' })
    expect(await jsonOf(['migrate'], environment)).toEqual({ applied: [], isFunctionsReplaced: false })
    expect(await runCli(['list'], environment)).toMatchObject({ code: 0, stdout: '' })
  } finally {
    await empty.drop()
  }
})

test('a schema of any name is made, used, and kept apart from another', async () => {
  const empty = await emptyDatabase()
  try {
    const environment = { DATABASE_URL: empty.connectionString }
    const schema = `Odd "name'; drop schema public; -- $1 \\ %s`
    expect(await jsonOf(['migrate', '--schema', schema], environment)).toEqual({
      applied: migrations,
      isFunctionsReplaced: true,
    })
    const { rows } = await empty.query(
      `select nspname from pg_namespace where nspname !~ '^(pg_|information)' order by 1`,
    )
    expect(rows.map(({ nspname }) => nspname as string)).toEqual([schema, `${schema}_queue`, 'public'])
    expect(await runCli(['list', '--schema', schema], environment)).toMatchObject({ code: 0 })
    expect(await runCli(['list'], environment)).toMatchObject({ code: 3 })
  } finally {
    await empty.drop()
  }
})

test('migrate --sql asks no database, and its script makes the schema where the queue has its own', async () => {
  const empty = await emptyDatabase()
  try {
    const environment = { DATABASE_URL: empty.connectionString }
    const { code, stdout: script } = await runCli(['migrate', '--sql', '--schema', 'mine'])
    expect(code).toBe(0)

    await runCli(['migrate', '--schema', 'mine'], environment)
    await empty.query('drop schema mine cascade')
    await empty.query(script)
    expect(await jsonOf(['migrate', '--schema', 'mine'], environment)).toEqual({
      applied: [],
      isFunctionsReplaced: false,
    })
    expect(await runCli(['list', '--schema', 'mine'], environment)).toMatchObject({ code: 0 })
  } finally {
    await empty.drop()
  }
})
