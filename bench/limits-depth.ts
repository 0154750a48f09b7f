/**
 * How fast a group with a deep backlog starts its next run, against one with a shallow backlog: both in one database and
 * one worker, taking turns, so that whatever else the machine does meets both alike. Each turn lets one group begin a
 * hundred runs, one after the other, between two runs that wait for the harness.
 */
import { patiently, timed } from './harness.ts'
import { fillGroup, letGo } from './limits-backlog.ts'
import { median } from './measure.ts'
import { openLimited } from './peers/limited.ts'
import type { Load } from './peers/peer.ts'
import { withDatabase, withFreshDatabase, type Server } from './postgres.ts'
import { WorkerHandle } from './worker-handle.ts'

const turns = 8
/** Not counted: they meet cold caches and code that is not compiled yet. */
const warmUps = 2
const runsOfTurn = 100
const gateEvery = runsOfTurn + 1
/** The one before is the group's holder while its runs are set aside. */
export const firstGate = gateEvery
const slots = 16

/** Each shallow group has one turn. Its gates have numbers far from the others'. */
const shallowGate = (turn: number): number => gateEvery * 10_000 * (turn + 1)

/** Answers how fast the deep group of `backlog` is in a shallow one's time: 1 is as fast. */
export async function playDepth(server: Server, backlog: string): Promise<number> {
  const play = (connectionString: string) =>
    withDatabase(connectionString, async (database) => {
      const limited = { workflows: ['limited'], groups: 1, gateEvery } as const
      const load: Load = { work: 'W0', steps: 0, slots, runs: 0, connectionString, limited }
      const client = await openLimited(load)
      for (let turn = 0; turn < turns; turn++) {
        const numbers = Array.from({ length: gateEvery + 2 }, (_, place) => shallowGate(turn) - 1 + place)
        await fillGroup(database, client, `shallow ${turn}`, numbers)
      }
      await client.close()
      await database.query('analyze')
      await letGo(database)
      return playTurns(load)
    })
  return withFreshDatabase(server, play, backlog)
}

async function playTurns(load: Load): Promise<number> {
  const worker = new WorkerHandle(undefined)
  try {
    await worker.load('limited', load)
    await worker.start()
    let reached = 1 + turns
    await patiently(worker.open([], reached))
    const turnMs = (gate: number): Promise<number> => timed(() => patiently(worker.open([gate], ++reached)))
    const ratios: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      const deepGate = firstGate + gateEvery * turn
      const early = turn % 2 === 0 ? await turnMs(deepGate) : undefined
      const shallowMs = await turnMs(shallowGate(turn))
      ratios.push(shallowMs / (early ?? (await turnMs(deepGate))))
    }
    return median(ratios.slice(warmUps)) ?? Number.NaN
  } finally {
    await worker.kill()
  }
}
