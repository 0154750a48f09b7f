import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { loseClaim } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const rounds = 30

test("A7: a run's result is what its wait was kept with, whatever claims are forced onto it around the wait", async () => {
  const client = openClient(database)
  const seen = new Map<string, Set<unknown>>()
  const waits = defineWorkflow({
    name: 'waits',
    maxAttempts: 100,
    lease: '1.5s',
    handler: async (_, run) => {
      await run.step('before', () => 1)
      const word = await Promise.race([run.waitFor('word'), run.waitFor('other', { timeout: 20 }).catch(() => 'late')])
      seen.set(run.id, (seen.get(run.id) ?? new Set()).add(word))
      await run.step('after', () => word)
      return word
    },
  })
  await Promise.all([1, 2, 3].map(() => startWorker(database, { workflows: [waits] })))
  const round = async (n: number): Promise<void> => {
    const started = await client.start(waits)
    await Promise.all([
      loseClaim(database, started.id),
      client.signal(started, 'word', `word ${n}`),
      loseClaim(database, started.id),
    ])
    await loseClaim(database, started.id)
    const result = await client.result(started)
    await vi.waitFor(() => expect(seen.get(started.id)?.has(result)).toBe(true), 15_000)
    const { rows } = await database.query<{ key: string; kind: string; value: string; seq: number }>(
      `select key, kind, value::text, seq from holdfast.steps where run_id = $1 order by seq`,
      [started.id],
    )
    const first = rows.find(({ key }) => key === 'word' || key === 'other')
    expect(result).toBe(first?.kind === 'timeout' ? 'late' : JSON.parse(first?.value ?? ''))
    const after = rows.find(({ key }) => key === 'after')
    expect(result).toBe(JSON.parse(after?.value ?? ''))
    // A signal is taken once, by the wait that was kept with it.
    const { rows: taken } = await database.query(`select count(*)::int from holdfast.signals where run_id = $1`, [
      started.id,
    ])
    expect(taken).toEqual([{ count: 1 }])
  }
  for (let n = 0; n < rounds; n += 5) await Promise.all([0, 1, 2, 3, 4].map((each) => round(n + each)))
})
