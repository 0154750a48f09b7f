import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit.ts'
import { createProgram } from '../../src/cli/program.ts'
import { HoldfastError } from '../../src/index.ts'
import { emptyDatabase } from '../support/database.ts'
import { runCli } from './run-cli.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Nobody listens there: a command that ends with 2 has not asked. */
const unreachable = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nowhere' }

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

test('--help names every command and --version the release, and both end with 0', async () => {
  const [help, ofStart, release] = await Promise.all([
    runCli(['--help']),
    runCli(['start', '--help']),
    runCli(['--version']),
  ])
  expect([help.code, ofStart.code, release.code]).toEqual([0, 0, 0])
  for (const command of createProgram().commands) expect(help.stdout).toMatch(new RegExp(`^  ${command.name()} `, 'm'))
  expect(ofStart.stdout).toContain('--max-attempts <count>')
  expect(release.stdout).toBe(`${version}\n`)
  expect(help.stderr + ofStart.stderr + release.stderr).toBe('')
})

/** Each of these is refused before a database is asked. */
const wrong: readonly (readonly [string, readonly string[], string])[] = [
  ['no command', [], 'Usage: workflow'],
  ['an unknown command', ['strat'], 'Did you mean start?'],
  ['an unknown option', ['list', '--workflows', 'x'], 'Did you mean --workflow?'],
  ['a missing argument', ['show'], "missing required argument 'run'"],
  ['a run that is no id', ['show', "' or 1=1; --"], 'A run is named by its id'],
  ['a limit of none', ['list', '--limit', '0'], '--limit'],
  ['an unknown state', ['list', '--state', 'ready'], 'scheduled'],
  ['input that is not JSON', ['start', 'hello', '--input', '{email: 1}'], '--input'],
  ['a time that is none', ['start', 'hello', '--at', 'soon'], '--at'],
  ['a delay that is none', ['start', 'hello', '--delay', 'soon'], 'delay'],
  ['a time and a delay', ['start', 'hello', '--at', '2030-01-01', '--delay', '1h'], 'contradict'],
  ['a priority that is none', ['start', 'hello', '--priority', 'high'], '--priority'],
  ['a priority out of range', ['start', 'hello', '--priority', '40000'], 'priority'],
  ['metadata without a name', ['start', 'hello', '--metadata', 'value'], 'name=value'],
  ['an empty key', ['start', 'hello', '--key', ''], 'key'],
  ['an empty group', ['start', 'hello', '--group', ''], 'group'],
  ['an id that is none', ['start', 'hello', '--id', '7'], 'id'],
  ['a schema that is none', ['list', '--schema', 'pg_catalog'], 'pg_'],
  ['no code', ['worker'], '--code'],
  ['code that is not there', ['worker', '--code', 'nowhere.ts'], 'nowhere.ts could not be loaded'],
  ['code without workflows', ['worker', '--code', 'package.json'], 'exports no workflow'],
]

test.each(wrong)('wrong usage is refused and says what is wrong: %s', async (_, args, says) => {
  let written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((written += String(text))))
  vi.stubEnv('DATABASE_URL', unreachable.DATABASE_URL)
  const error = await createProgram()
    .parseAsync(args, { from: 'user' })
    .catch((thrown: unknown) => thrown)
  expect(written + (error instanceof HoldfastError ? error.message : '')).toContain(says)
  expect(exitCodeOf(error)).toBe(2)
})

test('wrong usage ends with 2, whoever finds it, with one message on stderr and no stack', async () => {
  const [unknown, bad] = await Promise.all([
    runCli(['strat'], unreachable),
    runCli(['start', 'a', '--id', '7'], unreachable),
  ])
  expect([unknown.code, unknown.stdout]).toEqual([2, ''])
  expect(unknown.stderr).toMatch(/^error: unknown command 'strat'\n\(Did you mean start\?\)\n/)
  expect([bad.code, bad.stdout]).toEqual([2, ''])
  expect(bad.stderr).toMatch(/^error: start of 'a': id got a string\. Give a UUID.* \[ARGUMENT\]\n$/)
})

test('a command without a database ends with 2 and says how to give one', async () => {
  for (const { code, stderr } of await Promise.all([runCli(['list']), runCli(['list'], { DATABASE_URL: '' })])) {
    expect(code).toBe(2)
    expect(stderr).toBe('error: No database was given. Give --database-url, or set DATABASE_URL. [CONFIG]\n')
  }
})

test('a database that cannot be reached ends a command with 3', async () => {
  for (const { code, stderr } of await Promise.all([runCli(['list'], unreachable), runCli(['migrate'], unreachable)])) {
    expect(code).toBe(3)
    expect(stderr).toMatch(/^error: .*ECONNREFUSED.*DATABASE_URL.* \[DATABASE_UNREACHABLE\]\n$/)
  }
})

test('--database-url goes before DATABASE_URL, and a database without the schema ends a command with 3', async () => {
  const empty = await emptyDatabase()
  try {
    const there = ['--database-url', empty.connectionString]
    const results = [['list'], ['start', 'hello']].map((args) => runCli([...args, ...there], unreachable))
    for (const { code, stderr } of await Promise.all(results)) {
      expect(code).toBe(3)
      expect(stderr).toMatch(/^error: .* Run `workflow migrate`. \[SCHEMA_MISSING\]\n$/)
    }
  } finally {
    await empty.drop()
  }
})
