import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { instruments, prometheusName, type InstrumentName } from '../../src/trace/instruments.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { runCli, startCli } from './run-cli.ts'

const database = useDatabase()
const environment = { DATABASE_URL: database.connectionString }

test('TRACE-05: metrics prints what the database knows, under the names that an exporter gives them', async () => {
  const client = openClient(database)
  const begun = signal()
  const free = signal()
  const odd = defineWorkflow({
    name: 'orders: eu/2.1',
    concurrency: 2,
    handler: async () => {
      begun.give()
      await free.promise
    },
  })
  const worker = await startWorker(database, { workflows: [odd], concurrency: 5 })
  const run = await client.start(odd)
  await begun.promise
  await client.start(odd, undefined, { delay: '1h' })

  const { code, stdout } = await runCli(['metrics'], environment)
  const label = 'holdfast_workflow_name="orders: eu/2.1"'
  expect(code).toBe(0)
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      '# TYPE holdfast_queue_depth gauge',
      `holdfast_queue_depth{${label},holdfast_run_state="running"} 1`,
      `holdfast_queue_depth{${label},holdfast_run_state="scheduled"} 1`,
      `holdfast_queue_depth{${label},holdfast_run_state="waiting"} 0`,
      `holdfast_queue_oldest_age_seconds{${label}} 0`,
      `holdfast_limit_usage{${label},holdfast_limit_kind="concurrency"} 1`,
      `holdfast_limit_limit{${label},holdfast_limit_kind="concurrency"} 2`,
      `holdfast_limit_saturated{${label},holdfast_limit_kind="concurrency"} 0`,
      `holdfast_worker_slot_limit{holdfast_worker_id="${worker.id}"} 5`,
      `holdfast_worker_slot_usage{holdfast_worker_id="${worker.id}"} 1`,
    ]),
  )
  const read = Object.entries(instruments).filter(([, instrument]) => 'isRead' in instrument)
  for (const [name] of read) expect(stdout).toContain(`# HELP ${prometheusName(name as InstrumentName)} `)
  free.give()
  await client.result(run)
})

test('metrics --port serves them until it is told to stop, read anew each time', async () => {
  const cli = startCli(['metrics', '--port', '0'], environment)
  await cli.said('Metrics are at http://127.0.0.1:')
  await cli.said('/metrics\n')
  const address = /http:\S+/.exec(cli.output)?.[0] ?? ''
  const scrape = async (): Promise<string> => await (await fetch(address)).text()
  const before = await scrape()
  const client = openClient(database)
  const late = defineWorkflow({ name: 'came later', handler: () => undefined })
  await client.start(late)
  expect(before).not.toContain('came later')
  expect(await scrape()).toContain(
    'holdfast_queue_depth{holdfast_workflow_name="came later",holdfast_run_state="waiting"} 1',
  )
  const answer = await fetch(address)
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  await answer.text()
  expect((await fetch(new URL('/', address))).status).toBe(404)
  cli.send('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0, stdout: '' })
})

test.each([
  ['a port that is none', ['metrics', '--port', '65536'], 2],
  ['an address that is none of this machine', ['metrics', '--port', '0', '--host', '203.0.113.1'], 2],
])('metrics refuses %s', async (_, args, expected) => {
  const { code, stderr } = await runCli(args, environment)
  expect({ code, isSaid: stderr.startsWith('error: ') }).toEqual({ code: expected, isSaid: true })
})
