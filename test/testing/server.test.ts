import pg from 'pg'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { crashTest, createTestRuntime } from '../../src/testing.ts'
import { recordingLogger } from '../support/worker.ts'

const { connectionString } = inject('testServer')
const seven = defineWorkflow({ name: 'seven', handler: (_, run) => run.step('seven', () => 7) })

afterEach(() => void vi.unstubAllEnvs())

async function databases(): Promise<string[]> {
  const admin = new pg.Client({ connectionString })
  await admin.connect()
  try {
    const { rows } = await admin.query<{ name: string }>('select datname as name from pg_database')
    return rows.map(({ name }) => name)
  } finally {
    await admin.end()
  }
}

const nameOf = (address: string): string => new URL(address).pathname.slice(1)

describe('a test runtime has a database of its own', () => {
  test('on the server it is given, dropped at the end', async () => {
    const [first, second] = await Promise.all([
      createTestRuntime({ workflows: [seven], connectionString }),
      createTestRuntime({ workflows: [seven], connectionString }),
    ])
    const names = [nameOf(first.connectionString), nameOf(second.connectionString)]
    expect(await databases()).toEqual(expect.arrayContaining(names))
    await first.advance('1d')
    expect((await first.now()).getTime() - (await second.now()).getTime()).toBeGreaterThan(80_000_000)
    await Promise.all([first.close(), second.close(), second.close()])
    const left = await databases()
    expect(left.filter((name) => names.includes(name))).toEqual([])
    await expect(first.client.start(seven)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('on that of DATABASE_URL', async () => {
    vi.stubEnv('DATABASE_URL', connectionString)
    const runtime = await createTestRuntime({ workflows: [seven] })
    expect(new URL(runtime.connectionString).port).toBe(new URL(connectionString).port)
    expect(await databases()).toContain(nameOf(runtime.connectionString))
    await runtime.close()
  })

  test("else on one of this process's own, which all of them share", async () => {
    vi.stubEnv('DATABASE_URL', '')
    const first = await createTestRuntime({ workflows: [seven] })
    const second = await createTestRuntime({ workflows: [seven] })
    const port = (address: string): string => new URL(address).port
    expect(port(first.connectionString)).not.toBe(port(connectionString))
    expect(port(second.connectionString)).toBe(port(first.connectionString))
    expect(await second.client.result(await second.client.start(seven))).toBe(7)
    await Promise.all([first.close(), second.close()])
  })

  test('until the end of its block, where it is disposed of by that', async () => {
    let name: string
    {
      await using runtime = await createTestRuntime({ workflows: [seven], connectionString, concurrency: 1 })
      name = nameOf(runtime.connectionString)
      expect(await runtime.client.result(await runtime.client.start(seven))).toBe(7)
    }
    expect(await databases()).not.toContain(name)
  })

  test('and stops handlers that still run', async () => {
    const hung = defineWorkflow({ name: 'hung', handler: () => new Promise(() => undefined) })
    const runtime = await createTestRuntime({ workflows: [hung], connectionString })
    await runtime.client.start(hung)
    await runtime.close()
    await runtime.worker.done
  })
})

test('a test runtime says what its worker does to whoever listens', async () => {
  const logger = recordingLogger()
  const runtime = await createTestRuntime({ workflows: [seven], connectionString, logger })
  await runtime.close()
  expect(logger.lines.map(({ message }) => message)).toContain('The worker takes runs.')
})

test('a user who may not create databases is told so', async () => {
  const admin = new pg.Client({ connectionString })
  await admin.connect()
  await admin.query(`create role nobody_of_tests login password 'x'`)
  try {
    const url = new URL(connectionString)
    url.username = 'nobody_of_tests'
    url.password = 'x'
    const refused = createTestRuntime({ workflows: [seven], connectionString: url.href })
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_PERMISSION' })
  } finally {
    await admin.query('drop role nobody_of_tests')
    await admin.end()
  }
})

describe('what cannot be is refused', () => {
  test.each([
    ['workflows', { workflows: [] }, 'CONFIG'],
    ['connectionstring', { workflows: [seven], connectionstring: connectionString }, 'CONFIG'],
    ['connectionString', { workflows: [seven], connectionString: 'base' }, 'CONFIG'],
    ['concurrency', { workflows: [seven], connectionString, concurrency: 0 }, 'CONFIG'],
    ['logger', { workflows: [seven], connectionString, logger: 7 }, 'CONFIG'],
  ])('by createTestRuntime: %s', async (field, options, code) => {
    await expect(createTestRuntime(options as never)).rejects.toMatchObject({ code, field })
  })

  test.each([
    ['maxPoints', { maxPoints: 0 }, 'ARGUMENT'],
    ['timeout', { timeout: 'soon' }, 'DURATION'],
    ['prepare', { prepare: 7 }, 'ARGUMENT'],
    ['workflows', { workflows: [seven, 'seven'] }, 'ARGUMENT'],
    ['signals.0.name', { signals: [{ signal: 'go', name: 'go' }] }, 'ARGUMENT'],
    ['signals.0.signal', { signals: [{ signal: 7 }] }, 'ARGUMENT'],
    ['signals.after', { signals: [{ signal: 'go' }, { signal: 'go', after: 'soon' }] }, 'DURATION'],
    ['answers', { answers: 'yes' }, 'ARGUMENT'],
    ['points', { points: 7 }, 'ARGUMENT'],
  ])('by crashTest: %s', async (field, options, code) => {
    const refused = crashTest(seven, undefined, { connectionString, ...options } as never)
    await expect(refused).rejects.toMatchObject({ code, field })
  })

  test('a server that is not there', async () => {
    const away = createTestRuntime({ workflows: [seven], connectionString: 'postgres://x:y@127.0.0.1:1/z' })
    await expect(away).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
  })
})
