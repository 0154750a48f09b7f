import { beforeEach, describe, expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError, type LeaseLostReason } from '../../src/index.ts'
import type { NewWait } from '../../src/model/journal.ts'
import { storeError } from '../../src/model/stored-error.ts'
import {
  childOf,
  claimByHand,
  expire,
  memo,
  outcomes,
  recordOf,
  sweepLeases,
  type ClaimByHand,
  type Settled,
} from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { named } from '../support/variant.ts'
import { openClient } from '../support/worker.ts'

/** Every write of a claim that no longer holds its run, in every state the run can be in by then. */

const database = useDatabase()
const workflow = defineWorkflow({ name: 'held by hand', handler: () => undefined })

let runId: string
let x: ClaimByHand

beforeEach(async () => {
  const client = openClient(database)
  runId = (await client.start(workflow)).id
  await client.signal(runId, 'sent', 1)
  x = await claimByHand(database, runId)
})

async function takeOver(workerId?: string): Promise<ClaimByHand> {
  await expire(database, runId)
  expect(await sweepLeases(database)).toBe(1)
  return await claimByHand(database, runId, workerId === undefined ? {} : { workerId })
}

async function due(): Promise<void> {
  await database.query(`update holdfast.runs set due_at = now() where id = $1`, [runId])
  await database.query('select holdfast.promote_due(500)')
}

const endedByAnother = async (kind: Settled['kind']): Promise<LeaseLostReason> => {
  const y = await takeOver()
  expect(await y.settle(outcomes[kind])).toBeUndefined()
  return 'not_found'
}

/** What became of the run; answers why X's claim is lost. */
const situations: Readonly<Record<string, () => Promise<LeaseLostReason>>> = {
  'waits for another worker': async () => {
    await expire(database, runId)
    expect(await sweepLeases(database)).toBe(1)
    return 'not_found'
  },
  'is run by another worker': async () => {
    await takeOver()
    return 'superseded'
  },
  'is run by the same worker again': async () => {
    await takeOver(x.workerId)
    return 'superseded'
  },
  'was done by another': () => endedByAnother('done'),
  'was failed by another': () => endedByAnother('failed'),
  'was put off by another': () => endedByAnother('snooze'),
  'was suspended by another': () => endedByAnother('suspended'),
  'was released by another': () => endedByAnother('released'),
  'is run in the attempt after one that another put off': async () => {
    await endedByAnother('retry')
    await due()
    await claimByHand(database, runId)
    return 'superseded'
  },
  'was cancelled while X ran it': async () => {
    await openClient(database).cancel(runId)
    return 'not_found'
  },
  'was cancelled, retried and is run again': async () => {
    await openClient(database).cancel(runId)
    await openClient(database).retry(runId)
    await claimByHand(database, runId)
    return 'superseded'
  },
}

/** One of each kind of wait: one that would end at once, one that takes a signal, and one that starts a child. */
const lateWaits = (): readonly Omit<NewWait, 'key' | 'ordinal' | 'seq'>[] => [
  { kind: 'sleep', delayMs: 0 },
  { kind: 'signal', name: 'sent' },
  { kind: 'park', name: '[park]late', reason: 'late' },
  { kind: 'call', child: { workflow, item: childOf(runId) } },
  { kind: 'start', child: { workflow, item: { ...childOf(runId), key: 'late child' } } },
]

describe.each(Object.entries(situations))('when the run %s', (_, situation) => {
  test('LEASE-05: no write of the lost claim changes anything, and each is refused with the reason', async () => {
    const reason = await situation()
    const before = await recordOf(database, runId)

    const refusal = { name: LeaseLostError.name, code: 'LEASE_LOST', reason }
    await expect(x.journal.keep(memo('late', '"late"'))).rejects.toMatchObject(refusal)
    await expect(
      x.journal.transact(async (tx) => {
        await tx.query(
          named(`insert into holdfast.progress (run_id, token, at, value) values ($1, 1, now(), '"late"')`),
          [runId],
        )
        return memo('late transaction', '"late"')
      }),
    ).rejects.toMatchObject(refusal)
    for (const wait of lateWaits()) {
      await expect(x.journal.open({ ...wait, key: 'late wait', ordinal: 9, seq: 9 })).rejects.toMatchObject(refusal)
    }
    expect(await x.renew()).toBe(reason)
    expect(await x.progress('"late"')).toBe(0)
    for (const outcome of Object.values(outcomes)) {
      const failures = [{ ...memo('late failure', '{}'), kind: 'failure' as const }]
      const error = storeError(new Error('late'))
      const tries = [{ key: 'late try', tries: 1, error, retryMs: undefined }]
      const { kind } = outcome
      expect({ kind, lost: await x.settle(outcome) }).toEqual({ kind, lost: reason })
      expect({ kind, lost: await x.settle(outcome, { failures, tries }) }).toEqual({ kind, lost: reason })
    }

    expect(await recordOf(database, runId)).toEqual(before)
    expect((await database.query(`select from holdfast.keys where key = 'late child'`)).rows).toEqual([])
  })
})

test('LEASE-05: the number of a claim rises at every claim and every end of one, so that none is ever met again', async () => {
  const client = openClient(database)
  const numbers = [x.claim.token]
  const endings = [outcomes.snooze, outcomes.suspended, outcomes.released, outcomes.retry, outcomes.failed]
  await takeOver().then((y) => numbers.push(y.claim.token))
  await expire(database, runId)
  await sweepLeases(database)
  for (const outcome of endings) {
    // The worker is the stale claim's own each time: nothing but the number tells the two apart.
    const next = await claimByHand(database, runId, { workerId: x.workerId })
    numbers.push(next.claim.token)
    expect(await x.settle(outcomes.done)).toBe('superseded')
    expect(await next.settle(outcome)).toBeUndefined()
    expect(await x.settle(outcome)).toBe('not_found')
    if (outcome.kind === 'failed') await client.retry(runId)
    else if (outcome.kind !== 'released') await due()
  }
  expect(numbers).toEqual([1, 3, 5, 7, 9, 11, 13])
})

test('LEASE-05: a lease that ran out is still good until somebody ends it, for every write alike', async () => {
  await expire(database, runId)
  const stored = memo('step', '1')
  expect(await x.journal.keep(stored)).toMatchObject({ value: '1' })
  expect(await x.journal.transact(() => Promise.resolve(memo('transaction', '2', 2)))).toMatchObject({ value: '2' })
  expect(await x.progress('3')).toBe(1)
  expect(await x.renew()).toBeUndefined()
  await expire(database, runId)
  expect(await x.settle(outcomes.done)).toBeUndefined()
  expect(await openClient(database).result<unknown>(runId)).toBe('late')
})

test('LEASE-06: X stalls in attempt 1, Y puts the run off in attempt 2, Z goes on with attempt 2: the late are refused', async () => {
  const y = await takeOver()
  expect(await y.settle(outcomes.snooze)).toBeUndefined()
  await due()
  const z = await claimByHand(database, runId)
  expect([x.claim.attempt, y.claim.attempt, z.claim.attempt]).toEqual([1, 2, 2])

  const before = await recordOf(database, runId)
  for (const late of [x, y]) {
    await expect(late.journal.keep(memo('late', '"late"'))).rejects.toMatchObject({ reason: 'superseded' })
    expect(await late.renew()).toBe('superseded')
    expect(await late.progress('"late"')).toBe(0)
  }
  for (const outcome of Object.values(outcomes)) {
    const { kind } = outcome
    expect({ kind, lost: await x.settle(outcome) }).toEqual({ kind, lost: 'superseded' })
    // Y's own settle is the one that counted: it is answered as before, and changes nothing again.
    const lost = kind === 'snooze' ? undefined : 'superseded'
    expect({ kind, lost: await y.settle(outcome) }).toEqual({ kind, lost })
  }
  expect(await recordOf(database, runId)).toEqual(before)

  await z.journal.keep(memo('own', '1'))
  expect(await z.settle(outcomes.done)).toBeUndefined()
})
