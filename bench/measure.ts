/** What a round costs: processor time of the worker and of Postgres, WAL, and the arithmetic over rounds. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type pg from 'pg'

interface ProcessStat {
  readonly parent: number
  /** Its own time and that of the children it has reaped. */
  readonly cpuMs: number
}

const ticksPerSecond = 100

function statOf(pid: number): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), cpuMs: (ticks * 1000) / ticksPerSecond }
  } catch {
    // It ended between the listing and the read; its parent's line holds its time now.
    return undefined
  }
}

/** Processor milliseconds of a process and everything below it; null where there is no /proc to ask. */
export function cpuOfTree(root: number | undefined): number | null {
  if (root === undefined || !existsSync('/proc/self/stat')) return null
  const stats = new Map<number, ProcessStat>()
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? statOf(Number(entry)) : undefined
    if (stat) stats.set(Number(entry), stat)
  }
  const isBelowRoot = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && pid > 0 && isBelowRoot(stats.get(pid)?.parent))
  let sum = 0
  for (const [pid, stat] of stats) if (isBelowRoot(pid)) sum += stat.cpuMs
  return sum
}

/** The memory that this process holds when its garbage is collected. */
export async function residentBytes(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let n = 0; n < 5; n++) {
    collect()
    await sleep(100)
  }
  return process.memoryUsage.rss()
}

/** The postmaster of the server behind this connection, if it is a process of this machine. */
export async function localPostmaster(database: pg.Client): Promise<number | undefined> {
  const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
  const backend = rows[0]?.pid ?? 0
  try {
    if (!readFileSync(`/proc/${backend}/cmdline`, 'utf8').startsWith('postgres')) return undefined
  } catch {
    return undefined
  }
  return statOf(backend)?.parent
}

export async function walBytes(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ bytes: string }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`,
  )
  return Number(rows[0]?.bytes)
}

export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2
}

/** The smallest value that is not below `share` percent of them. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil((sorted.length * share) / 100) - 1] ?? null
}

export interface RoundFigures {
  readonly runs_s: number
  readonly enqueue_s: number
  readonly worker_cpu_ms: number
  readonly postgres_cpu_ms: number | null
  readonly wal_bytes: number
}

export type Medians = { readonly [Figure in keyof RoundFigures]: number | null }

const decimals: Readonly<Record<keyof RoundFigures, number>> = {
  runs_s: 0,
  enqueue_s: 0,
  worker_cpu_ms: 1,
  postgres_cpu_ms: 1,
  wal_bytes: 0,
}

export function round(value: number | null, digits: number): number | null {
  return value === null ? null : Number(value.toFixed(digits))
}

export function mediansOf(rounds: readonly RoundFigures[]): Medians {
  const medianOf = (figure: keyof RoundFigures): number | null => {
    const known = rounds.map((one) => one[figure]).filter((value) => value !== null)
    return round(median(known), decimals[figure])
  }
  return {
    runs_s: medianOf('runs_s'),
    enqueue_s: medianOf('enqueue_s'),
    worker_cpu_ms: medianOf('worker_cpu_ms'),
    postgres_cpu_ms: medianOf('postgres_cpu_ms'),
    wal_bytes: medianOf('wal_bytes'),
  }
}

/** The median of the ratios within each round, so that what slows the machine in one round slows both. */
export function ratioOf(ours: readonly RoundFigures[], theirs: readonly RoundFigures[]): number | null {
  const ratios = ours.flatMap((one, index) => {
    const other = theirs[index]
    return other ? [one.runs_s / other.runs_s] : []
  })
  return round(median(ratios), 3)
}
