import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { lineInvariants } from '../support/line-invariants.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('WAIT-03: a parent and its children share a limit of one, three levels deep', async () => {
  const client = openClient(database)
  // oxlint-disable-next-line typescript/no-explicit-any -- a workflow that calls itself
  const nests: any = defineWorkflow({
    name: 'nests',
    input: z.number(),
    concurrency: 1,
    group: () => 'one',
    handler: async (depth, run) => (depth === 0 ? 0 : (await run.call<number, number>(nests, depth - 1)) + 1),
  })
  await startWorker(database, { workflows: [nests] })
  const both = await Promise.all([client.start(nests, 3), client.start(nests, 3)])
  expect(await Promise.all(both.map((run) => client.result(run)))).toEqual([3, 3])
})

test.each(['sleep', 'signal', 'child', 'person'] as const)(
  'LIMIT-06: a run that waits for a %s holds no slot of its limit, and takes one again before it goes on',
  async (kind) => {
    const client = openClient(database)
    const enough = signal()
    const after: string[] = []
    const child = defineWorkflow({
      name: `child ${kind}`,
      handler: async () => {
        await enough.promise
      },
    })
    const waits = defineWorkflow({
      name: `waits for a ${kind}`,
      input: z.string(),
      concurrency: 1,
      handler: async (name, run) => {
        if (name === 'other') {
          await run.step('hold', () => enough.promise)
          after.push('other')
          return name
        }
        if (kind === 'sleep') await run.sleep('long', '1h')
        if (kind === 'signal') await run.waitFor('word')
        if (kind === 'child') await run.call(child)
        if (kind === 'person') await run.park('ask', { reason: 'Well?', schema: z.unknown() })
        after.push('waiter')
        return name
      },
    })
    await startWorker(database, { workflows: [waits, child] })
    const waiter = await client.start(waits, 'waiter')
    await becomes(client, waiter, 'suspended')
    const other = await client.start(waits, 'other')
    await becomes(client, other, 'running')
    if (kind === 'sleep') await letPass(database, waiter.id, '1 hour')
    if (kind === 'signal') await client.signal(waiter, 'word', 1)
    if (kind === 'person') await client.unpark(waiter, 1)
    if (kind !== 'child') {
      // Its turn has come and the slot is taken: it is set aside.
      await becomes(client, waiter, 'waiting')
      expect(after).toEqual([])
    }
    enough.give()
    expect(await Promise.all([waiter, other].map((run) => client.result(run)))).toEqual(['waiter', 'other'])
    if (kind !== 'child') expect(after).toEqual(['other', 'waiter'])
    const { rows } = await database.query(
      `select count(*)::int as overlaps from holdfast.all_claims a
       join holdfast.all_claims b on b.began_at < a.ended_at and b.ended_at > a.began_at and (b.run_id, b.token) > (a.run_id, a.token)
       where a.run_id = any($1) and b.run_id = any($1)`,
      [[waiter.id, other.id]],
    )
    expect(rows).toEqual([{ overlaps: 0 }])
    for (const query of Object.values(lineInvariants)) expect((await database.query(query)).rows).toEqual([])
  },
)
