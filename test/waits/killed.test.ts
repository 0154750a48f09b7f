import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import type { FailPoint } from '../support/fail-points.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { child, parent } from './killed-workflows.ts'

const database = useDatabase()
const module = new URL('killed-workflows.ts', import.meta.url)

const points: readonly Omit<FailPoint, 'how'>[] = [
  { when: 'before', fn: 'open_waits' },
  { when: 'after', fn: 'open_waits' },
  { when: 'before', fn: 'settle_runs' },
  { when: 'after', fn: 'settle_runs' },
]

test.each(points)(
  'WAIT-03: a worker killed $when it calls $fn costs no wait: one child of each call, each signal once',
  async ({ when, fn }) => {
    const client = openClient(database)
    const started = await client.start(parent)
    await client.signal(started, 'word', 'sent')
    const killed = await forkWorker(database, { module, concurrency: 4, failPoint: { when, fn, how: 'kill' } })
    expect((await killed.ended).signal).toBe('SIGKILL')
    await startWorker(database, { workflows: [parent, child] })
    expect(await client.result(started)).toEqual([2, 'beside', 'sent', true])
    const { rows } = await database.query(
      `select input::text, count(*)::int from holdfast.runs where parent_id = $1 group by 1 order by 1`,
      [started.id],
    )
    expect(rows).toEqual([
      { input: '1', count: 1 },
      { input: '5', count: 1 },
    ])
    expect((await database.query('select from holdfast.waits where run_id = $1', [started.id])).rows).toEqual([])
  },
)
