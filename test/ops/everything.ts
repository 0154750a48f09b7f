import pg from 'pg'
import { expect } from 'vitest'
import { z } from 'zod'
import { createClient, createWorker, defineWorkflow, RunFailedError, type ClientOptions } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { recordingLogger, signal } from '../support/worker.ts'

/**
 * All that an application does, once: it migrates an empty database by itself, starts runs in and outside of its own
 * transactions, and works on them until its worker stops.
 */
export async function doEverything(database: TestDatabase, where: ClientOptions): Promise<void> {
  const workflows = makeWorkflows()
  const { busy, failing, staying } = workflows
  const logger = recordingLogger()
  const client = createClient({ ...where, logger })
  const newWorker = async (): Promise<ReturnType<typeof createWorker>> => {
    const worker = createWorker({ ...where, workflows: [busy, failing, staying.workflow] })
    await worker.start()
    return worker
  }
  const tx = new pg.Client({ connectionString: database.connectionString })
  tx.on('error', () => undefined)
  await tx.connect()
  await tx.query('create table public.marks (run_id uuid not null, attempt integer not null)')

  const outside = await client.start(busy, 1)
  await tx.query('begin')
  const inside = await client.start(busy, 2, { key: 'taken', tx })
  const again = client.start(busy, 2, { key: 'taken' })
  // Longer in all than a session of ours waits for a lock at a time.
  for (let pause = 0; pause < 3; pause += 1) await tx.query('select pg_sleep(0.15)')
  expect(await client.get(inside)).toBeUndefined()
  await tx.query('commit')
  expect(await again).toEqual({ id: inside.id, created: false, state: 'waiting' })
  await tx.query('begin')
  const undone = await client.start(busy, 3, { tx })
  await tx.query('rollback')
  expect(await client.get(undone)).toBeUndefined()

  const scheduled = await client.start(busy, 4, { delay: '300ms' })
  const later = await client.start(busy, 5, { delay: '1h' })
  expect([scheduled.state, later.state]).toEqual(['scheduled', 'scheduled'])
  expect(await client.cancel(later, { reason: 'not needed' })).toMatchObject({ state: 'cancelled' })

  const worker = await newWorker()
  const begun = [outside, inside, scheduled]
  const outputs = [1, 2, 4].map((n) => [n + 1, n + 2, n + 3, n + 4])
  expect(await Promise.all(begun.map((run) => client.result(run)))).toEqual(outputs)
  for (const run of begun) expect(await client.get(run)).toMatchObject({ state: 'done', attempt: 2 })
  const marks = await tx.query('select run_id, attempt from public.marks order by run_id')
  expect(marks.rows).toEqual(
    begun
      .map(({ id }) => id)
      .toSorted()
      .map((id) => ({ run_id: id, attempt: 1 })),
  )

  const failed = await client.start(failing)
  await expect(client.result(failed)).rejects.toThrow(RunFailedError)
  expect((await client.list({ state: 'failed' })).items).toMatchObject([{ id: failed.id, reason: 'declined' }])
  expect(await client.retry(failed)).toMatchObject({ id: failed.id })
  expect(await client.result(failed)).toBe('mended')

  const cancelled = await client.start(staying.workflow)
  await staying.entered[0].promise
  await client.cancel(cancelled)
  await staying.aborted.promise
  const released = await client.start(staying.workflow)
  await staying.entered[1].promise
  await worker.stop({ grace: 0 })
  expect(await client.get(released)).toMatchObject({ state: 'waiting', attempt: 1 })
  const next = await newWorker()
  expect(await client.result(released)).toBe('stayed to the end')
  await next.stop()

  const states = Object.fromEntries((await client.list()).items.map(({ id, state }) => [id, state]))
  expect(states).toEqual({
    ...Object.fromEntries([...begun, failed, released].map(({ id }) => [id, 'done'])),
    ...Object.fromEntries([later, cancelled].map(({ id }) => [id, 'cancelled'])),
  })
  // No start had to be sent again.
  expect(logger.lines).toEqual([])
  await Promise.all([client.close(), tx.end()])
}

function makeWorkflows() {
  const snoozed = new Set<string>()
  const busy = defineWorkflow({
    name: 'busy',
    input: z.number(),
    handler: async (input, run) => {
      const first = await run.step('first', () => input + 1)
      const others = await Promise.all([1, 2, 3].map((more) => run.step('other', () => first + more)))
      await run.transaction('mark', async (tx) => {
        await tx.query('insert into public.marks values ($1, $2)', [run.id, run.attempt])
      })
      if (!snoozed.has(run.id)) {
        snoozed.add(run.id)
        return run.snooze('10ms')
      }
      return run.attempt === 1 ? run.retry('10ms') : [first, ...others]
    },
  })

  let isMended = false
  const failing = defineWorkflow({
    name: 'failing',
    handler: (_, run) => {
      if (isMended) return 'mended'
      isMended = true
      return run.fail('declined')
    },
  })

  const entered = [signal(), signal(), signal()] as const
  const aborted = signal()
  let entries = 0
  const workflow = defineWorkflow({
    name: 'staying',
    // Where no NOTIFY tells that it was cancelled, a renewal does.
    lease: '2s',
    handler: async (_, run) => {
      const isLast = entries === 2
      entered[entries]?.give()
      entries += 1
      if (isLast) return 'stayed to the end'
      await new Promise<void>((resolve) => run.abortSignal.addEventListener('abort', () => resolve()))
      aborted.give()
      return 'refused'
    },
  })
  return { busy, failing, staying: { workflow, entered, aborted } }
}
