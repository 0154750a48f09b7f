import { Batcher } from '../db/batcher.ts'
import { startRuns } from '../db/calls.ts'
import { explain } from '../db/database-errors.ts'
import type { Database } from '../db/database.ts'
import type { StartOptions } from '../define/start-options.ts'
import type { Clock } from '../model/clock.ts'
import { ArgumentError } from '../model/errors.ts'
import type { Logger } from '../model/logger.ts'
import type { Queryable } from '../model/run.ts'
import type { StartItem, StartRow } from '../model/start-item.ts'
import type { Workflow } from '../model/workflow.ts'
import { boundLogger, silentLogger } from '../trace/bound-logger.ts'
import type { ClientTelemetry } from '../trace/tracing.ts'
import { resend } from './resend.ts'
import { makeStart, readStarted, type Start, type Started } from '../define/make-start.ts'

/** Starts runs. Concurrent starts outside a caller's transaction share a statement and a commit. */
export class Starter {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Logger
  readonly #telemetry: ClientTelemetry
  readonly #batcher: Batcher<StartItem, StartRow>

  constructor(database: Database, clock: Clock, telemetry: ClientTelemetry, log?: Logger) {
    this.#database = database
    this.#clock = clock
    this.#telemetry = telemetry
    this.#log = boundLogger(log ?? silentLogger, { from: 'client' })
    this.#batcher = new Batcher({
      clock,
      sizeOf,
      onFlush: (size) => telemetry.meters.record('holdfast.batch.size', size, { 'holdfast.batch.call': 'start' }),
      flush: (items) => this.#flush(items),
    })
  }

  /** `prepare` runs before the first start of this process that is not in a caller's transaction. */
  async start(
    workflow: Workflow,
    input: unknown,
    given: StartOptions | undefined,
    prepare: () => Promise<void>,
  ): Promise<Started> {
    const made = await makeStart(workflow, input, given, this.#clock)
    const { tx } = made.options
    return await this.#telemetry.starting(
      [made],
      async ([start]) => {
        if (tx) {
          const [row] = await this.startIn(tx, [start!])
          return readStarted(start!, row!)
        }
        await prepare()
        return await this.send(start!)
      },
      (started) => [started],
    )
  }

  /** Alone: it commits with whatever else is started just now. */
  async send(start: Start): Promise<Started> {
    return readStarted(start, await this.#batcher.add(start.item))
  }

  /** All in the caller's transaction, in the order of their keys, so that two batches never wait for each other. */
  async startIn(tx: Queryable, starts: readonly Start[]): Promise<readonly StartRow[]> {
    const rows = new Map<Start, StartRow>()
    for (const part of partsOf(starts)) {
      const answered = await startRuns(
        this.#database,
        part.map(({ item }) => item),
        tx,
      ).catch((error: unknown) => {
        throw explain(error)
      })
      if (answered.length < part.length) {
        throw new ArgumentError('The transaction answered nothing.', {
          field: 'tx',
          remedy: "Pass something whose query(text, values) answers { rows }, as pg's does.",
        })
      }
      for (const [index, start] of part.entries()) rows.set(start, answered[index]!)
    }
    return starts.map((start) => rows.get(start)!)
  }

  /**
   * All or none of them: `accept` throws for a row that it does not want. In a caller's transaction a savepoint undoes
   * them; otherwise they are sent again when the connection is lost.
   */
  async startTogether<T>(
    starts: readonly Start[],
    accept: (rows: readonly StartRow[]) => T,
    tx: Queryable | undefined,
  ): Promise<T> {
    if (tx) return await undoing(tx, async () => accept(await this.startIn(tx, starts)))
    return await resend(this.#clock, () =>
      this.#database.transaction(async (own) => accept(await this.startIn(own, starts))),
    )
  }

  async #flush(items: readonly StartItem[]): Promise<readonly StartRow[]> {
    const onLoss = (error: unknown): void =>
      this.#log.warn({ error, runs: items.length }, 'A start met connection loss; it is sent again under the same id.')
    // The ids make that safe.
    return await resend(this.#clock, () => startRuns(this.#database, items), onLoss)
  }
}

/** What the work wrote is undone if it throws, and the transaction goes on. */
async function undoing<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  await tx.query('savepoint holdfast')
  try {
    const answer = await work()
    await tx.query('release savepoint holdfast')
    return answer
  } catch (error) {
    await tx.query('rollback to savepoint holdfast')
    throw error
  }
}

const mostItems = 500
const mostBytes = 4 * 2 ** 20

function sizeOf(item: StartItem): number {
  return item.input.length + (item.input_types?.length ?? 0) + 400
}

/** What one call may hold at most. */
function partsOf(starts: readonly Start[]): Start[][] {
  const parts: Start[][] = []
  let bytes = 0
  for (const start of starts.toSorted((a, b) => compare(a.item.key ?? '', b.item.key ?? ''))) {
    bytes += sizeOf(start.item)
    const last = parts.at(-1)
    if (last && last.length < mostItems && bytes <= mostBytes) last.push(start)
    else {
      parts.push([start])
      bytes = sizeOf(start.item)
    }
  }
  return parts
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
