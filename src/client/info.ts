/** What `client.info` answers: the state of things at a glance. Instants are the database's. */
export interface Info {
  /** The version of Postgres. */
  readonly server: string
  /** When it was so. */
  readonly at: Date
  readonly workers: readonly WorkerInfo[]
  /** Signals that were dropped, ever: no run came for them in 24 hours. */
  readonly droppedSignals: number
  /** Every workflow on record, by name. */
  readonly workflows: readonly WorkflowInfo[]
}

/** A worker that lives, as the database last heard of it. */
export interface WorkerInfo {
  readonly id: string
  /** Its host and process. */
  readonly name: string
  readonly workflows: readonly string[]
  /** How many runs it takes at once, and has just now. */
  readonly slots: number
  readonly running: number
  readonly startedAt: Date
  readonly seenAt: Date
}

/** How many of its runs are in each state; done and cancelled ones are not counted. */
export interface WorkflowInfo {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly scheduled: number
  readonly suspended: number
  readonly failed: number
  /** Since when the longest waiting run has been due. */
  readonly oldestWaitingAt: Date | undefined
}

interface InfoRow {
  readonly server: string
  readonly at: string
  readonly dropped_signals: number
  readonly workers: readonly (Omit<WorkerInfo, 'startedAt' | 'seenAt'> & { started_at: string; seen_at: string })[]
  readonly workflows: readonly {
    readonly name: string
    readonly waiting: number | null
    readonly running: number | null
    readonly scheduled: number | null
    readonly suspended: number | null
    readonly failed: number | null
    readonly oldest_waiting_at: string | null
  }[]
}

export function toInfo(json: string): Info {
  const { server, at, dropped_signals: droppedSignals, workers, workflows } = JSON.parse(json) as InfoRow
  return {
    server,
    at: new Date(at),
    droppedSignals,
    workers: workers.map(({ started_at: startedAt, seen_at: seenAt, ...rest }) => ({
      ...rest,
      startedAt: new Date(startedAt),
      seenAt: new Date(seenAt),
    })),
    workflows: workflows.map((row) => ({
      name: row.name,
      waiting: row.waiting ?? 0,
      running: row.running ?? 0,
      scheduled: row.scheduled ?? 0,
      suspended: row.suspended ?? 0,
      failed: row.failed ?? 0,
      oldestWaitingAt: row.oldest_waiting_at === null ? undefined : new Date(row.oldest_waiting_at),
    })),
  }
}
