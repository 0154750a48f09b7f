import { expect, test } from 'vitest'
import { createClient, defineWorkflow, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { signal, startWorker } from '../support/worker.ts'
import { documentedAttributes } from './documented-attributes.ts'
import { useRecording } from './recording.ts'

const database = useDatabase()
const recording = useRecording()

test('TRACE-01: docs/tracing.md has every attribute that is on a span, and no other', async () => {
  const tracing = { runKey: true, groupKey: true }
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracing })
  const begun = signal()
  const free = signal()
  const narrow = defineWorkflow({
    name: 'narrow',
    group: () => 'acme',
    concurrency: 1,
    retry: { initial: '1h' },
    handler: async (_, run: Run) => {
      begun.give()
      await free.promise
      await run.step('one', () => 1)
      if (run.attempt === 1) throw new Error('Again.')
    },
  })
  const slow = defineWorkflow({ name: 'slow', rate: { limit: 1, per: '300ms' }, handler: () => 1 })
  const telemetry = recording.telemetry(tracing)
  await startWorker(database, { workflows: [narrow, slow], telemetry })
  const first = await client.start(narrow, undefined, { key: 'first' })
  await begun.promise
  const second = await client.start(narrow)
  await expect.poll(() => isSetAside(second.id)).toBe(true)
  free.give()
  for (const run of [first, second]) {
    await becomes(client, run, 'scheduled')
    await letPass(database, run.id, '2 hours')
    await client.result(run)
  }
  const [one, two] = await client.startMany(slow, [{}, {}])
  await client.result(one!)
  await client.result(two!)
  await expect.poll(() => recording.named('run slow').length).toBe(2)
  await client.close()

  const names = new Set(recording.spans.flatMap(({ attributes }) => Object.keys(attributes)))
  expect([...names].toSorted()).toEqual(documentedAttributes())
  for (const { attributes } of recording.spans) {
    for (const name of ['holdfast.queue.wait', 'holdfast.limit.wait', 'holdfast.rate.wait']) {
      // Seconds, and no clock goes backwards in them.
      const value = attributes[name]
      if (value !== undefined) expect([Number(value) >= 0, Number(value) < 3_600]).toEqual([true, true])
    }
  }
})

async function isSetAside(id: string): Promise<boolean | undefined> {
  const { rows } = await database.query<{ is_set_aside: boolean }>(
    'select is_set_aside from holdfast.runs where id = $1',
    [id],
  )
  return rows[0]?.is_set_aside
}
