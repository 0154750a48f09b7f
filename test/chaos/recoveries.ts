import type { Evidence } from './evidence.ts'
import type { Life } from './fleet.ts'
import { groupBy } from './group-by.ts'

export interface Recoveries {
  /** Claims that killed workers held. */
  readonly recovered: number
  /** From the kill to the run's next claim. */
  readonly recovery_p50_ms: number | null
  readonly recovery_p99_ms: number | null
  readonly recovery_max_ms: number | null
}

export interface Recovery {
  readonly run: string
  readonly ms: number
  readonly killedAt: number
}

/** How soon the runs of killed workers were claimed by others, by the database's clock; the slowest is the last. */
export function recoveries({ claims }: Evidence, lives: readonly Life[]): Recovery[] {
  const killedAt = new Map(lives.map(({ workerId, killedAt: when }) => [workerId ?? '', when]))
  const claimsOf = groupBy(claims, ({ run }) => run)
  const all = claims.flatMap(({ run, token, worker, beganAt, endedAt, outcome }) => {
    const when = killedAt.get(worker ?? '')
    if (when === undefined || outcome !== 'lease_lost' || beganAt > when || (endedAt ?? Infinity) < when) return []
    const next = claimsOf.get(run)?.find((claim) => claim.token > token)
    return next ? [{ run, ms: next.beganAt - when, killedAt: when }] : []
  })
  return all.toSorted((a, b) => a.ms - b.ms)
}

export function recoveryFigures(sorted: readonly Recovery[]): Recoveries {
  const waits = sorted.map(({ ms }) => ms)
  return {
    recovered: waits.length,
    recovery_p50_ms: quantile(waits, 0.5),
    recovery_p99_ms: quantile(waits, 0.99),
    recovery_max_ms: quantile(waits, 1),
  }
}

export function quantile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return value === undefined ? null : Math.round(value)
}
