import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createClient,
  defineWorkflow,
  DatabaseUnreachableError,
  type Client,
  type StartOptions,
  type Started,
} from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { startProxy, type CutOptions, type Proxy } from '../support/proxy.ts'
import { newId } from '../support/runs.ts'
import { optionsFor, variant } from '../support/variant.ts'
import { openClient, recordingLogger } from '../support/worker.ts'

const database = useDatabase()

const echo = defineWorkflow({ name: 'echo', input: z.string(), handler: (text) => text })

let proxy: Proxy
let client: Client

beforeEach(async () => {
  proxy = await startProxy(database)
  client = openClient(proxy)
})

const cuts: readonly CutOptions['when'][] = ['before', 'after']

/** What makes a start the same start when it is repeated. */
const names: Record<string, () => StartOptions> = {
  'an id': () => ({ id: newId() }),
  'an id and a key': () => ({ id: newId(), key: newId() }),
}

const ways = cuts.flatMap((when) =>
  Object.keys(names).map((name) => ({ when, name, make: names[name] as () => StartOptions })),
)

async function runsOf(input: string): Promise<unknown[]> {
  const { rows } = await database.query<{ id: string }>(`select id from holdfast.runs where input #>> '{}' = $1`, [
    input,
  ])
  return rows.map(({ id }) => id)
}

test.each(cuts)(
  'RUN-09: a start whose connection is cut %s the server has it is sent again by itself, as one run',
  async (when) => {
    for (const options of [{}, { key: newId() }, { id: newId() }]) {
      const input = newId()
      const wasCut = proxy.cut(/start_runs/, { when })
      const { id } = await client.start(echo, input, options)
      await wasCut
      expect(await runsOf(input)).toEqual([id])
    }
  },
)

test.each(cuts)(
  'RUN-09: starts that never learned their outcome can be repeated with their ids: cut %s the server has them',
  async (when) => {
    // On a caller's pool the commit would be a message of its own.
    const isThere = when === 'after' && variant.poolSize === undefined
    await client.start(echo, 'puts the definition on record')
    const wasCut = proxy.cut(/start_runs/, { when, times: Infinity })
    const starts = Object.values(names).map((make) => ({ options: make(), input: newId() }))
    const attempts = starts.map(({ input, options }) => client.start(echo, input, options))
    for (const { status, reason } of (await Promise.allSettled(attempts)) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected')
      expect(reason).toBeInstanceOf(DatabaseUnreachableError)
    }
    await wasCut
    proxy.mend()
    for (const { input, options } of starts) {
      expect((await client.get(options.id as string)) !== undefined).toBe(isThere)
      expect(await client.start(echo, input, options)).toEqual({ id: options.id, created: !isThere, state: 'waiting' })
      expect(await runsOf(input)).toEqual([options.id])
    }
  },
)

test.each(ways)(
  'RUN-09: a transaction cut $when the server has its commit can be repeated with $name',
  async ({ when, make }) => {
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
    const wasCut = proxy.cut(/^Qcommit/, { when })
    await expect(transact()).rejects.toThrow()
    await wasCut
    const isThere = when === 'after'
    await expect.poll(() => runsOf(input)).toEqual(isThere ? [options.id] : [])
    expect(await transact()).toMatchObject({ id: options.id, created: !isThere })
    expect(await runsOf(input)).toEqual([options.id])
  },
)

test("a client's logger is told when a start is sent again", async () => {
  const logger = recordingLogger()
  const told = createClient({ ...optionsFor(proxy), migrate: 'off', logger })
  try {
    const wasCut = proxy.cut(/start_runs/, { when: 'after' })
    await told.start(echo, newId())
    await wasCut
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { from: 'client', runs: 1 } }])
  } finally {
    await told.close()
  }
})
