import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { storeError } from '../../src/model/stored-error.ts'
import { Settler } from '../../src/worker/settler.ts'
import { claimByHand, memo, outcomes, recordOf, type ClaimByHand, type Settled } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { openClient } from '../support/worker.ts'

/** A worker that does not know whether its settle was committed sends it again. */

const database = useDatabase()
const workflow = defineWorkflow({ name: 'settled twice', handler: () => undefined })

async function claimNew(maxAttempts = 10): Promise<ClaimByHand> {
  const { id } = await openClient(database).start(workflow, undefined, { maxAttempts })
  return await claimByHand(database, id)
}

const leftovers = {
  recalled: 3,
  failures: [{ ...memo('went past', '{}'), kind: 'failure' as const }],
  tries: [{ key: 'tried', tries: 2, error: storeError(new Error('not yet')), retryMs: undefined }],
}

const cases: readonly [string, Settled][] = Object.entries(outcomes)

test('LEASE-12: a settle sent again is answered as the first was, and changes nothing, whatever it was', async () => {
  for (const [kind, outcome] of cases) {
    const x = await claimNew()
    const impostor = new Settler(onPool(database.pool), randomUUID(), patience)
    const ending = { outcome, recalled: 0, failures: [], tries: [] }
    expect({ kind, lost: (await impostor.settle(x.claim, ending)).lost }).toEqual({ kind, lost: 'not_found' })
    expect({ kind, lost: await x.settle(outcome, leftovers) }).toEqual({ kind, lost: undefined })
    const { run, kept } = await recordOf(database, x.claim.id)
    expect(run['token']).toBe(2)
    expect({ kind, lost: await x.settle(outcome, leftovers) }).toEqual({ kind, lost: undefined })
    expect(await recordOf(database, x.claim.id)).toMatchObject({ run, kept })

    // Whatever a claim asks for may have failed its run, by its deadline or its last attempt: that answers all the same.
    for (const [other, another] of cases) {
      if (other === kind) continue
      const lost = kind === 'failed' ? undefined : 'not_found'
      expect({ kind, other, lost: await x.settle(another) }).toEqual({ kind, other, lost })
    }
    expect((await impostor.settle(x.claim, ending)).lost).toBe('not_found')
    expect(await recordOf(database, x.claim.id)).toMatchObject({ run, kept })
  }
})

test('LEASE-12: a settle whose reply was lost at its commit is sent again by itself, and counts once', async () => {
  for (const [kind, outcome] of cases) {
    const x = await claimNew()
    const pool = new CuttingPool({ connectionString: database.connectionString })
    try {
      const settler = new Settler(onPool(pool), x.workerId, patience)
      const { lost } = await settler.settle(x.claim, { outcome, ...leftovers })
      expect({ kind, lost, commits: pool.commits }).toEqual({ kind, lost: undefined, commits: 2 })
    } finally {
      await pool.end()
    }
    const { run } = await recordOf(database, x.claim.id)
    expect(run).toMatchObject({ token: 2, attempt: 1 })
  }
})

test('LEASE-12: a settle sent again after the run went on is answered as the first was, and changes nothing', async () => {
  const x = await claimNew()
  expect(await x.settle(outcomes.released)).toBeUndefined()
  const y = await claimByHand(database, x.claim.id)
  const before = await recordOf(database, x.claim.id)
  expect(await x.settle(outcomes.released)).toBeUndefined()
  expect(await recordOf(database, x.claim.id)).toEqual(before)
  expect(await y.settle(outcomes.done)).toBeUndefined()
  expect(await x.settle(outcomes.released)).toBeUndefined()
  expect(await x.settle(outcomes.done)).toBe('not_found')
})

test('LEASE-12: a retry that failed the run on its last attempt is answered so again, also after the run came back', async () => {
  const x = await claimNew(1)
  expect(await x.settle(outcomes.retry)).toBeUndefined()
  const client = openClient(database)
  expect(await client.get(x.claim.id)).toMatchObject({ state: 'failed', failure: 'attempts_exhausted' })
  expect(await x.settle(outcomes.retry)).toBeUndefined()
  await client.retry(x.claim.id)
  const y = await claimByHand(database, x.claim.id)
  const before = await recordOf(database, x.claim.id)
  expect(await x.settle(outcomes.retry)).toBeUndefined()
  expect(await recordOf(database, x.claim.id)).toEqual(before)
  expect(await y.settle(outcomes.done)).toBeUndefined()
})

const patience = { clock: systemClock, until: new AbortController().signal }

function onPool(pool: pg.Pool): Database {
  return new Database({ pool, schema: variant.schema, clock: systemClock })
}

/** The connection is cut after the server has committed and before anybody here can know, once. */
class CuttingPool extends pg.Pool {
  commits = 0

  override connect(): Promise<pg.PoolClient>
  override connect(callback: (...given: never[]) => void): void
  override connect(callback?: (...given: never[]) => void): Promise<pg.PoolClient> | void {
    if (callback) return super.connect(callback as never)
    return super.connect().then((client) => {
      const query = client.query.bind(client) as (text: unknown, values?: unknown) => Promise<unknown>
      const cut = async (text: unknown, values?: unknown): Promise<unknown> => {
        const result = await query(text, values)
        if ((text as { text?: unknown }).text === 'commit' && (this.commits += 1) === 1) {
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        }
        return result
      }
      return Object.assign<pg.PoolClient, object>(client, { query: cut })
    })
  }
}
