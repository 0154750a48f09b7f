import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { claimByHand, expire, sweepLeases } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'

const database = useDatabase()

test('LEASE-04: one lease that ran out is found in one sweep among ten thousand live ones that come before it', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'last', handler: () => undefined })
  await database.query(
    `insert into holdfast.runs (id, token, workflow, state, priority, attempt, max_attempts, created_at, due_at,
       claimed_at, lease_until, worker_id, input)
     select lpad(n::text, 32, '0')::uuid, 1, 'live', 'running', 0, 1, 10, now(), now(), now(), now() + interval '1 h',
       lpad((n % 7)::text, 32, '0')::uuid, 'null'
     from generate_series(1, 10000) n`,
  )
  const { id } = await client.start(workflow)
  await claimByHand(database, id)
  await expire(database, id)
  expect(await sweepLeases(database)).toBe(1)
  expect(await client.get(id)).toMatchObject({ state: 'waiting', attempt: 1 })
})
