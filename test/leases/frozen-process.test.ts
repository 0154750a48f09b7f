import { beforeEach, expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { recordBesideLease } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { giveOrder, listen, type Told } from '../support/tell.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { burns, staysBriefly } from './forked-workflows.ts'

const database = useDatabase()
const module = new URL('forked-workflows.ts', import.meta.url)
const other = defineWorkflow({ name: 'something else', handler: () => undefined })

/** What handlers in this process have told. */
const heard: Told[] = []

beforeEach(() => {
  heard.splice(0)
  listen((told) => heard.push(told))
})

async function claimsOf(runId: string): Promise<unknown[]> {
  const { rows } = await database.query(
    'select attempt, outcome from holdfast.all_claims where run_id = $1 order by token',
    [runId],
  )
  return rows
}

test('LEASE-10: a process frozen past its lease and then woken settles nothing', async () => {
  const client = openClient(database)
  const frozen = await forkWorker(database, { module, concurrency: 1 })
  const started = await client.start(staysBriefly)
  await frozen.hear('entered', started.id)
  frozen.freeze()
  await startWorker(database, { workflows: [staysBriefly] })
  await vi.waitFor(() => expect(heard).toMatchObject([{ word: 'entered', attempt: 2 }]), 10_000)

  const before = await recordBesideLease(database, started.id)
  frozen.order('go')
  frozen.thaw()
  expect(await frozen.hear('refused', started.id)).toMatchObject({ attempt: 1 })
  expect((await frozen.hearLog('lease was lost')).fields).toMatchObject({ runId: started.id, attempt: 1 })
  expect(await recordBesideLease(database, started.id)).toEqual(before)

  giveOrder('go')
  expect(await client.result(started)).toBe(2)
  expect(await claimsOf(started.id)).toEqual([
    { attempt: 1, outcome: 'lease_lost' },
    { attempt: 2, outcome: 'done' },
  ])
})

test('LEASE-10: a process frozen until it was taken for dead works again once it is woken', async () => {
  const client = openClient(database)
  const frozen = await forkWorker(database, { module, concurrency: 1 })
  const workerId = await frozen.ready()
  const isSilent = async (): Promise<boolean> => {
    const { rows } = await database.query<{ ended_as: string | null }>(
      'select ended_as from holdfast.workers where id = $1',
      [workerId],
    )
    return rows[0]?.ended_as === 'silent'
  }
  // It sweeps, and runs nothing that is started here.
  await startWorker(database, { workflows: [other] })
  frozen.freeze()
  // Two of its leases have gone by without a renewal.
  await database.query(`update holdfast.workers set seen_at = now() - 2 * lease where id = $1`, [workerId])
  await vi.waitFor(async () => expect(await isSilent()).toBe(true), 10_000)
  frozen.thaw()

  const started = await client.start(staysBriefly)
  await frozen.hear('entered', started.id)
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from holdfast.runs where id = $1 and lease_until > claimed_at + interval '3 s'`,
      [started.id],
    )
    expect(rows).toHaveLength(1)
  }, 10_000)
  frozen.order('go')
  expect(await client.result(started)).toBe(1)
  expect(await isSilent()).toBe(false)
})

test('LEASE-11: a handler that blocks its event loop past its lease is taken over, refused, and named in the log', async () => {
  const client = openClient(database)
  const blocked = await forkWorker(database, { module, concurrency: 1 })
  const started = await client.start(burns)
  await blocked.hear('entered', started.id)
  await startWorker(database, { workflows: [burns] })
  expect(await client.result(started)).toBe(2)
  const before = await recordBesideLease(database, started.id)

  const warning = await blocked.hearLog('event loop was blocked')
  expect(warning.level).toBe('warn')
  expect(warning.fields['lateMs']).toBeGreaterThan(1_500)
  expect((await blocked.hearLog('lease was lost')).fields).toMatchObject({ runId: started.id, attempt: 1 })
  expect(await recordBesideLease(database, started.id)).toEqual(before)
  expect(await claimsOf(started.id)).toEqual([
    { attempt: 1, outcome: 'lease_lost' },
    { attempt: 2, outcome: 'done' },
  ])
})
