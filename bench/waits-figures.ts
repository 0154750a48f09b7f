/** What the waits suite answers, and the figures behind it: of a round, and the medians over the rounds. */
import { median, round } from './measure.ts'
import type { CallFigures, SideName } from './waits-calls.ts'
import type { HerdFigures } from './waits-herd.ts'
import type { WakeFigures } from './waits-wake.ts'

export interface WaitsRound {
  readonly calls: CallFigures
  readonly herd: HerdFigures
  readonly wake: WakeFigures
  readonly idleBytes: Readonly<Record<SideName, number>>
}

interface Figure {
  /** The most that it may be; null: it is there to explain another. */
  readonly bar: number | null
  readonly digits: number
  of(round: WaitsRound): number
}

const ratioOf = ({ full, empty }: Readonly<Record<SideName, number>>): number => full / empty
const megabytes = (bytes: number): number => bytes / 2 ** 20

export const figures = {
  claim: { bar: 1.1, digits: 3, of: ({ calls }) => ratioOf(calls.claim) },
  start: { bar: 1.1, digits: 3, of: ({ calls }) => ratioOf(calls.start) },
  settle: { bar: 1.1, digits: 3, of: ({ calls }) => ratioOf(calls.settle) },
  'herd, ms': { bar: 5000, digits: 0, of: ({ herd }) => herd.ms },
  'wake p50, ms': { bar: 20, digits: 2, of: ({ wake }) => wake.all.p50 },
  'wake p99, ms': { bar: 100, digits: 2, of: ({ wake }) => wake.all.p99 },
  'idle rss': { bar: 1.1, digits: 3, of: ({ idleBytes }) => ratioOf(idleBytes) },
  'claim, ms': { bar: null, digits: 2, of: ({ calls }) => calls.claim.full },
  'start, ms': { bar: null, digits: 2, of: ({ calls }) => calls.start.full },
  'settle, ms': { bar: null, digits: 2, of: ({ calls }) => calls.settle.full },
  'herd, CPU ms': { bar: null, digits: 0, of: ({ herd }) => herd.cpuMs },
  'sleep p50, ms': { bar: null, digits: 2, of: ({ wake }) => wake.sleep.p50 },
  'sleep p99, ms': { bar: null, digits: 2, of: ({ wake }) => wake.sleep.p99 },
  'signal p50, ms': { bar: null, digits: 2, of: ({ wake }) => wake.signal.p50 },
  'signal p99, ms': { bar: null, digits: 2, of: ({ wake }) => wake.signal.p99 },
  'idle with, MB': { bar: null, digits: 1, of: ({ idleBytes }) => megabytes(idleBytes.full) },
  'idle without, MB': { bar: null, digits: 1, of: ({ idleBytes }) => megabytes(idleBytes.empty) },
} as const satisfies Readonly<Record<string, Figure>>

export type FigureName = keyof typeof figures

export function medianOf(name: FigureName, rounds: readonly WaitsRound[]): number | null {
  const { of, digits } = figures[name]
  return round(median(rounds.map(of)), digits)
}

export function resultsOf(rounds: readonly WaitsRound[]) {
  const of = (name: FigureName): number | null => medianOf(name, rounds)
  return {
    claim: of('claim'),
    start: of('start'),
    settle: of('settle'),
    herd_ms: of('herd, ms'),
    wake_ms: { p50: of('wake p50, ms'), p99: of('wake p99, ms') },
    idle_rss: of('idle rss'),
  }
}
