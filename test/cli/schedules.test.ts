import { beforeAll, expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { record, schedulerOf } from '../support/schedules.ts'
import { openClient } from '../support/worker.ts'
import { jsonOf, runCli } from './run-cli.ts'
import { beat, report } from './scheduled-workflows.ts'

const database = useDatabase()
const environment = { DATABASE_URL: database.connectionString }

beforeAll(async () => {
  await record(database, report, beat)
  await schedulerOf(database, [report, beat]).look()
})

test('schedules list says when each is next, and what it is', async () => {
  const said = await runCli(['schedules', 'list'], environment)
  expect(said).toMatchObject({ code: 0 })
  expect(said.stdout).toMatch(
    new RegExp(
      [
        String.raw`^beat: every 1h30m, catch up one, overlap queue`,
        String.raw` {2}next at \S+`,
        String.raw` {2}0 started, 0 skipped, 0 failed`,
        String.raw`report: 0 9 \* \* 1-5 in Europe/Berlin, catch up one, overlap skip`,
        String.raw` {2}next at \S+T0[78]:00:00\S*`,
        String.raw` {2}0 started, 0 skipped, 0 failed`,
        '$',
      ].join('\n'),
    ),
  )
  expect(await jsonOf(['schedules', 'list', 'report'], environment)).toMatchObject([
    { workflow: 'report', cron: '0 9 * * 1-5', everyMs: null, zone: 'Europe/Berlin', paused: null, last: null },
  ])
  expect((await runCli(['schedules', 'list', 'nothing'], environment)).stderr).toContain('No workflow has a schedule.')
})

test('schedules pause says who and why, and resume takes it back', async () => {
  const paused = await runCli(['schedules', 'pause', 'beat', '--reason', 'too\nloud', '--by', 'ada'], environment)
  expect(paused).toMatchObject({ code: 0 })
  expect(paused.stdout).toMatch(/ {2}paused by ada since \S+: too\\u000aloud\n/)
  expect(paused.stdout).not.toContain('next at')
  expect(await jsonOf(['schedules', 'resume', 'beat'], environment)).toMatchObject([{ workflow: 'beat', paused: null }])
  expect((await runCli(['schedules', 'resume', 'beat'], environment)).stderr).toContain('of beat was not paused.')
})

test('schedules trigger starts a run with the schedule’s input and prints its id, each time another', async () => {
  const client = openClient(database)
  await runCli(['schedules', 'pause', 'report'], environment)
  const first = await runCli(['schedules', 'trigger', 'report', '--by', 'ada'], environment)
  expect(first).toMatchObject({ code: 0 })
  const id = first.stdout.trim()
  expect(await client.get(id)).toMatchObject({
    workflow: 'report',
    input: { kind: 'sales' },
    state: 'waiting',
    metadata: { scheduledFor: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string, triggeredBy: 'ada' },
  })
  const second = await jsonOf<{ id: string }>(['schedules', 'trigger', 'report', '--group', 'g'], environment)
  expect(await client.get(second.id)).toMatchObject({ group: 'g' })
  expect(second.id).not.toBe(id)
})

test('a workflow that has no schedule is wrong usage, and one that nobody knows is not there', async () => {
  const client = openClient(database)
  await client.start((await import('./limited-workflows.ts')).tenants, { tenant: 'a' })
  for (const command of ['pause', 'resume', 'trigger']) {
    const none = await runCli(['schedules', command, 'tenants'], environment)
    expect({ command, ...none }).toMatchObject({ code: 2, stdout: '' })
    expect(none.stderr).toContain('The workflow "tenants" has no schedule.')
    expect(await runCli(['schedules', command, 'nobody'], environment)).toMatchObject({ code: 1, stdout: '' })
  }
})
