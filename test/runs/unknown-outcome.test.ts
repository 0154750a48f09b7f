import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineWorkflow,
  DatabaseUnreachableError,
  type Client,
  type StartOptions,
  type Started,
} from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient } from '../support/worker.ts'
import { CuttingProxy, type Cut } from './cutting-proxy.ts'

const database = useDatabase()

const echo = defineWorkflow({ name: 'echo', input: z.string(), handler: (text) => text })

let proxy: CuttingProxy
let client: Client

beforeEach(async () => {
  proxy = await CuttingProxy.open(database)
  client = openClient(proxy)
})

afterEach(() => proxy.close())

const cuts: readonly Cut[] = ['before it arrives', 'after it is done']

/** What makes a start the same start when it is repeated. */
const names: Record<string, () => StartOptions> = {
  'an id': () => ({ id: newId() }),
  'an id and a key': () => ({ id: newId(), key: newId() }),
}

const ways = cuts.flatMap((cut) =>
  Object.keys(names).map((name) => ({ cut, name, make: names[name] as () => StartOptions })),
)

async function runsOf(input: string): Promise<unknown[]> {
  const { rows } = await database.query<{ id: string }>(`select id from holdfast.runs where input #>> '{}' = $1`, [
    input,
  ])
  return rows.map(({ id }) => id)
}

test.each(cuts)('RUN-09: a start whose connection is cut %s is sent again by itself, as one run', async (cut) => {
  for (const options of [{}, { key: newId() }, { id: newId() }]) {
    const input = newId()
    proxy.cutAt('start_runs', cut)
    const { id } = await client.start(echo, input, options)
    expect(proxy.left).toBe(0)
    expect(await runsOf(input)).toEqual([id])
  }
})

test.each(cuts)(
  'RUN-09: starts that never learned their outcome can be repeated with their ids: cut %s',
  async (cut) => {
    const isThere = cut === 'after it is done'
    await client.start(echo, 'puts the definition on record')
    proxy.cutAt('start_runs', cut, Infinity)
    const starts = Object.values(names).map((make) => ({ options: make(), input: newId() }))
    const attempts = starts.map(({ input, options }) => client.start(echo, input, options))
    for (const { status, reason } of (await Promise.allSettled(attempts)) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected')
      expect(reason).toBeInstanceOf(DatabaseUnreachableError)
    }
    proxy.cutAt('start_runs', cut, 0)
    for (const { input, options } of starts) {
      expect((await client.get(options.id as string)) !== undefined).toBe(isThere)
      expect(await client.start(echo, input, options)).toEqual({ id: options.id, created: !isThere, state: 'waiting' })
      expect(await runsOf(input)).toEqual([options.id])
    }
  },
)

test.each(ways)(
  'RUN-09: a transaction cut at its commit can be repeated with $name, cut $cut',
  async ({ cut, make }) => {
    const [options, input] = [make(), newId()]
    const transact = async (): Promise<Started> => {
      const tx = new pg.Client({ connectionString: proxy.connectionString })
      tx.on('error', () => undefined)
      await tx.connect()
      try {
        await tx.query('begin')
        const started = await client.start(echo, input, { ...options, tx })
        await tx.query('commit')
        return started
      } finally {
        await tx.end().catch(() => undefined)
      }
    }
    proxy.cutAt('commit', cut)
    await expect(transact()).rejects.toThrow()
    expect(proxy.left).toBe(0)
    const isThere = cut === 'after it is done'
    await expect.poll(() => runsOf(input)).toEqual(isThere ? [options.id] : [])
    expect(await transact()).toMatchObject({ id: options.id, created: !isThere })
    expect(await runsOf(input)).toEqual([options.id])
  },
)
