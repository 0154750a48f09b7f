/**
 * How soon a run that waits goes on: one at a time beside the sleepers, with a worker that has nothing else to do. Half of
 * them sleep, half wait for a signal. The next follows after a pause of chance, so that runs meet every phase of whatever
 * timers there are.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { patiently } from './harness.ts'
import { instant } from './instant.ts'
import { percentile } from './measure.ts'
import type { Load } from './peers/peer.ts'
import { openWaits, type WaitsClient } from './peers/waits.ts'
import { withDatabase } from './postgres.ts'
import { untilSuspended } from './waits-sleepers.ts'
import { WorkerHandle } from './worker-handle.ts'

interface Spans {
  readonly p50: number
  readonly p99: number
}

const wakings = ['sleep', 'signal'] as const
type Waking = (typeof wakings)[number]

/** In milliseconds, from the instant at which a sleep is over, or at which a signal is sent, until the handler goes on. */
export type WakeFigures = Readonly<Record<Waking | 'all', Spans>>

/** Of each kind. The 99th percentile of both together is then the fourth worst. */
const runs = 150
/** Not counted: they meet cold caches and code that is not compiled yet. */
const warmUps = 20
const slots = 16

export async function playWakings(connectionString: string): Promise<WakeFigures> {
  const load: Load = { work: 'W0', steps: 0, slots, runs: 0, connectionString }
  return withDatabase(connectionString, async (database) => {
    const client = await openWaits(connectionString)
    const worker = new WorkerHandle(undefined)
    try {
      await worker.load('waits', load)
      await worker.start()
      const player: Player = { database, client }
      const sentAt: Record<Waking, Map<number, number>> = { sleep: new Map(), signal: new Map() }
      for (let i = 0; i < 2 * (warmUps + runs); i++) {
        const waking = wakings[i % 2] as Waking
        const at = await patiently(wake[waking](player, i))
        if (i >= 2 * warmUps) sentAt[waking].set(i, at)
        await chance(5, 30)
      }
      const begunAt = await worker.begunAt()
      await worker.stop()
      const spans = (waking: Waking) => [...sentAt[waking]].map(([i, at]) => (begunAt[i] ?? Number.NaN) - at)
      const [slept, signalled] = [spans('sleep'), spans('signal')]
      return { sleep: spansOf(slept), signal: spansOf(signalled), all: spansOf([...slept, ...signalled]) }
    } finally {
      await worker.kill()
      await client.close()
    }
  })
}

interface Player {
  readonly database: pg.Client
  readonly client: WaitsClient
}

/** Each plays one run, and answers the instant at which it was to go on. */
const wake: Readonly<Record<Waking, (player: Player, i: number) => Promise<number>>> = {
  async sleep({ client, database }, i) {
    const run = await client.sleep(i, 50 + Math.random() * 100)
    await client.result(run)
    const askedAt = instant()
    const { rows } = await database.query<{ ms: string }>(
      'select extract(epoch from clock_timestamp() - due_at) * 1000 as ms from holdfast.runs where id = $1',
      [run.id],
    )
    // The database's clock is not that of `instant`, but was read at some time between these two.
    return (askedAt + instant()) / 2 - Number(rows[0]?.ms)
  },

  async signal({ client, database }, i) {
    const run = await client.listen(i)
    await untilSuspended(database, run.id)
    await chance(5, 30)
    const sentAt = instant()
    await client.go(run)
    await client.result(run)
    return sentAt
  },
}

function chance(shortestMs: number, longestMs: number): Promise<void> {
  return sleep(shortestMs + Math.random() * (longestMs - shortestMs))
}

function spansOf(spans: readonly number[]): Spans {
  return { p50: percentile(spans, 50) ?? Number.NaN, p99: percentile(spans, 99) ?? Number.NaN }
}
