import { expect, test, vi } from 'vitest'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface Release {
  readonly parks: Workflow<undefined, unknown, string>
  readonly other: Workflow<undefined, unknown, void>
}

/** What each release did, by run. */
const done: string[] = []

function release(name: string, maxAttempts: number, last: (run: Run) => Promise<string>): Release {
  return {
    parks: defineWorkflow({
      name: 'parks',
      maxAttempts,
      handler: async (_, run) => {
        await run.step('kept', () => void done.push(`${run.id} kept`))
        const refuse = (): void => {
          if (name === 'old') throw new Error('not yet')
        }
        await run.step('asks', refuse, { retry: { initial: '1h', maxTries: 3 } })
        return await last(run)
      },
    }),
    other: defineWorkflow({ name: 'other', maxAttempts, handler: () => void done.push(name) }),
  }
}

test('OPS-06: twenty parked runs outlive a release that changes another workflow, and their own', async () => {
  const client = openClient(database)
  const old = release('old', 2, () => Promise.resolve('old'))
  const worker = await startWorker(database, { workflows: [old.parks, old.other] })
  const suspended = await Promise.all(Array.from({ length: 10 }, () => client.start(old.parks)))
  await vi.waitFor(async () => {
    const states = await Promise.all(suspended.map(async (run) => (await client.get(run))?.state))
    expect(states).toEqual(suspended.map(() => 'suspended'))
  }, 10_000)
  await worker.stop()
  const waiting = await Promise.all(Array.from({ length: 10 }, () => client.start(old.parks)))

  const next = release('next', 9, (run) => run.step('new at the end', () => 'next'))
  await startWorker(database, { workflows: [next.parks, next.other] })
  expect(await client.result(await client.start(next.other))).toBeUndefined()
  // Those that sleep have not been given up, and wake under the new release.
  await database.query(`update holdfast.runs set due_at = now() where state = 'suspended'`)
  await database.query(`update holdfast.tries set retry_at = now()`)
  const runs = [...suspended, ...waiting]
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(runs.map(() => 'next'))
  expect(done.filter((line) => line.endsWith('kept')).toSorted()).toEqual(runs.map(({ id }) => `${id} kept`).toSorted())
  const { rows } = await database.query(`select distinct attempt, failure from holdfast.runs where workflow = 'parks'`)
  expect(rows).toEqual([{ attempt: 1, failure: null }])
})
