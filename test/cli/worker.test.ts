import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useDatabase, emptyDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'
import { bin, jsonOf, RunningCli, startCli, runCli } from './run-cli.ts'

const database = useDatabase()

const environment = { DATABASE_URL: database.connectionString }

let folder: string

/** TypeScript as people write it, with what must be taken out before it runs. */
const workflows = `
import { connect } from 'node:net'
import { defineWorkflow, type Workflow } from '${new URL('../../dist/index.js', import.meta.url).href}'

enum Greeting { Short = 'hi', Long = 'good day' }

interface Holding { readonly port: number }

const given = { '~standard': { version: 1 as const, vendor: 'mine', validate: (value: unknown) => ({ value: value as Holding }) } }

export const brief = defineWorkflow({ name: 'brief', handler: () => Greeting.Short })
export const holding = defineWorkflow({
  name: 'holding',
  input: given,
  handler: async ({ port }: Holding): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    await new Promise((resolve) => socket.on('close', resolve).resume())
    return 'let go'
  },
})
const long = defineWorkflow({ name: 'long', handler: () => Greeting.Long })
export const notOne = { name: 'none', definition: {} }
export default [brief, long] satisfies readonly Workflow[]
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'))
  await writeFile(join(folder, 'workflows.ts'), workflows)
  await writeFile(join(folder, 'broken.ts'), `throw new Error('it does not run')`)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Where a 'holding' run calls, and waits until it is let go. */
async function holder(): Promise<{ port: number; called: Promise<Socket>; close: () => void }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const called = once(server, 'connection').then(([socket]) => socket as Socket)
  return { port: (server.address() as AddressInfo).port, called, close: () => server.close() }
}

test('worker runs every workflow that a TypeScript file exports, by name or in a list, each once', async () => {
  const worker = startCli(['worker', '--code', join(folder, 'workflows.ts'), '--concurrency', '2'], environment)
  await worker.said('The worker takes runs.')
  const client = openClient(database)
  for (const [name, output] of [
    ['brief', 'hi'],
    ['long', 'good day'],
  ] as const) {
    const { id } = await jsonOf<{ id: string }>(['start', name], environment)
    expect(await client.result(id)).toBe(output)
  }
  const { rows } = await database.query(
    `select slots, array(select unnest(workflows) order by 1) as workflows from holdfast.workers where ended_at is null`,
  )
  expect(rows).toEqual([{ slots: 2, workflows: ['brief', 'holding', 'long'] }])
  worker.send('SIGINT')
  expect(await worker.ended).toMatchObject({ code: 0, stdout: '' })
})

test('SIGTERM lets running handlers finish, takes no more, and ends with 0', async () => {
  const { port, called, close } = await holder()
  const worker = startCli(['worker', '--code', join(folder, 'workflows.ts')], environment)
  const { id } = await jsonOf<{ id: string }>(['start', 'holding', '--input', JSON.stringify({ port })], environment)
  const socket = await called
  worker.send('SIGTERM')
  await worker.said('The worker takes no more runs')
  const late = await jsonOf<{ id: string }>(['start', 'brief'], environment)
  socket.end()
  expect(await worker.ended).toMatchObject({ code: 0, signal: null })
  close()
  const client = openClient(database)
  expect(await client.get(id)).toMatchObject({ state: 'done', output: 'let go', attempt: 1 })
  expect(await client.get(late.id)).toMatchObject({ state: 'waiting', attempt: 0 })
})

test('past --grace a run is given back, uncounted, and the worker ends with 0', async () => {
  const { port, called, close } = await holder()
  const args = ['worker', '--code', join(folder, 'workflows.ts'), '--grace', '100ms']
  const worker = startCli(args, environment)
  const { id } = await jsonOf<{ id: string }>(['start', 'holding', '--input', JSON.stringify({ port })], environment)
  const socket = await called
  worker.send('SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 0, signal: null })
  socket.destroy()
  close()
  expect(await openClient(database).get(id)).toMatchObject({ state: 'waiting', attempt: 1 })
})

test('worker migrates an empty database, and with --no-migrate refuses it with 3', async () => {
  const empty = await emptyDatabase()
  try {
    const args = ['worker', '--code', join(folder, 'workflows.ts')]
    const there = { DATABASE_URL: empty.connectionString }
    const { code, stderr } = await runCli([...args, '--no-migrate'], there)
    expect(code).toBe(3)
    expect(stderr).toContain('Run `workflow migrate`. [SCHEMA_MISSING]')
    const worker = startCli(args, there)
    await worker.said('The worker takes runs.')
    worker.send('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  } finally {
    await empty.drop()
  }
})

test('code that does not run ends with 2 and says why', async () => {
  const { code, stderr } = await runCli(['worker', '--code', join(folder, 'broken.ts')], environment)
  expect(code).toBe(2)
  expect(stderr).toContain('broken.ts could not be loaded: it does not run.')
})

/** ESC [ begins what colours a terminal. */
const colour = '\u001b['

test('log lines that no terminal reads have no colours, wherever they go', async () => {
  const worker = startCli(['worker', '--code', join(folder, 'workflows.ts')], { ...environment, CI: 'true' })
  await worker.said('The worker takes runs.')
  worker.send('SIGTERM')
  expect((await worker.ended).stderr).not.toContain(colour)
})

test.skipIf(process.platform !== 'linux')(
  'log lines on a terminal have colours, but not with NO_COLOR (by script of Linux)',
  async () => {
    // The shell must not outlive the handing over: one that stays dies of the same SIGINT, and its code is the answer.
    const command = `exec '${process.execPath}' '${bin}' worker --code '${join(folder, 'workflows.ts')}'`
    const shows = async (more: Readonly<Record<string, string>>): Promise<boolean> => {
      const worker = new RunningCli('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
        ...environment,
        ...more,
        SHELL: '/bin/sh',
      })
      await worker.said('The worker takes runs.')
      worker.type('\u0003')
      const { code, stdout } = await worker.ended
      expect(code).toBe(0)
      return stdout.includes(colour)
    }
    expect(await shows({})).toBe(true)
    expect(await shows({ NO_COLOR: '1' })).toBe(false)
  },
)
