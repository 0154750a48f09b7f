import { expect, test, vi } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { neverEnds, staysBriefly } from './working-workflows.ts'

const database = useDatabase()
const module = new URL('working-workflows.ts', import.meta.url)

test('OPS-03: a worker frozen for several leases and woken claims, renews, sweeps, promotes and listens again', async () => {
  const client = openClient(database)
  const woken = await forkWorker(database, { module, concurrency: 4 })
  const workerId = await woken.ready()
  woken.freeze()
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from holdfast.workers where id = $1 and seen_at < now() - interval '5 s'`,
      [workerId],
    )
    expect(rows).toHaveLength(1)
  }, 15_000)
  // Another takes a run meanwhile and is killed: nobody but the woken one can find out.
  const killed = await forkWorker(database, { module, concurrency: 1 })
  const orphan = await client.start(staysBriefly)
  await killed.hear('entered', orphan.id)
  await killed.kill()
  woken.thaw()

  expect(await woken.hear('entered', orphan.id)).toMatchObject({ attempt: 2 })
  const cancelled = await client.start(neverEnds)
  await woken.hear('entered', cancelled.id)
  await client.cancel(cancelled)
  await woken.hear('aborted', cancelled.id)
  const scheduled = await client.start(staysBriefly, undefined, { delay: '200ms' })
  expect(await woken.hear('entered', scheduled.id)).toMatchObject({ attempt: 1 })
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from holdfast.runs where id = any($1) and lease_until > claimed_at + interval '3 s'`,
      [[orphan.id, scheduled.id]],
    )
    expect(rows).toHaveLength(2)
  }, 15_000)
  woken.order('go')
  expect([await client.result(orphan), await client.result(scheduled)]).toEqual([2, 1])
})
