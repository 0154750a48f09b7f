import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants } from '../support/limits.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

const input = z.object({ tenant: z.string().optional() })
const group = ({ tenant }: z.infer<typeof input>): string | undefined => tenant

test.each([
  { limits: { concurrency: { perGroup: 1 } }, takes: ['a', 'b', undefined, undefined] },
  { limits: { concurrency: { limit: 3, perGroup: 1 } }, takes: ['a', undefined, 'b'] },
  { limits: { concurrency: 1 }, takes: ['a'] },
  { limits: { rate: { limit: 2, per: '1h' } }, takes: ['a', 'a'] },
])('LEASE-13: reserve keeps $limits', async ({ limits, takes }) => {
  const workflow = defineWorkflow({
    name: `reserved ${JSON.stringify(limits).replaceAll(/\W+/g, ' ')}x`,
    input,
    group,
    ...limits,
    handler: () => 1,
  })
  const client = openClient(database)
  const tenants = ['a', 'a', undefined, 'b', undefined]
  await client.startMany(
    workflow,
    tenants.map((tenant) => ({ input: tenant === undefined ? {} : { tenant } })),
  )
  const ask = { workflows: [workflow.name], max: 10 }
  const reserved = await client.reserve(ask)
  const byText = (a?: string, b?: string): number => (a ?? '~').localeCompare(b ?? '~')
  expect(reserved.map((each) => each.group).toSorted(byText)).toEqual(takes.toSorted(byText))
  expect(await client.reserve(ask)).toEqual([])
  for (const each of reserved) await client.ack(each)
  if (!('rate' in limits)) expect(await client.reserve(ask)).not.toEqual([])
})

test('LEASE-13: a place that is given back by hand goes to a worker', async () => {
  const workflow = defineWorkflow({ name: 'by both', concurrency: 1, handler: () => 1 })
  const client = openClient(database)
  const [first, second] = await client.startMany(workflow, [{ input: undefined }, { input: undefined }])
  const [reserved] = await client.reserve({ workflows: ['by both'] })
  expect(reserved).toMatchObject({ id: first?.id })
  await startWorker(database, { workflows: [workflow] })
  await client.ack(reserved as NonNullable<typeof reserved>)
  await client.result(second as { id: string })
})
