import { parseStartManyOptions, type StartManyOptions } from '../define/call-options.ts'
import { describeValue } from '../define/describe-value.ts'
import type { StartOptions } from '../define/start-options.ts'
import type { Clock } from '../model/clock.ts'
import { ArgumentError, HoldfastError } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import type { Workflow } from '../model/workflow.ts'
import { makeStart, readStarted, type Start, type Started } from '../define/make-start.ts'
import type { ClientTelemetry } from '../trace/tracing.ts'
import type { Starter } from './starter.ts'

/** What became of one item of a batch whose items stand alone. */
export type StartedOrError<O = unknown> = Started<O> | { readonly error: Error }

/** One start of `startMany`: its input, and the options of `start` but for `tx`. */
export type StartManyItem<I> = (undefined extends I ? { input?: NoInfer<I> } : { input: NoInfer<I> }) &
  Omit<StartOptions, 'tx'>

/** Starts many runs of a workflow. An error of one of them names its place. */
export class ManyStarter {
  readonly #starter: Starter
  readonly #clock: Clock
  readonly #telemetry: ClientTelemetry

  constructor(starter: Starter, clock: Clock, telemetry: ClientTelemetry) {
    this.#starter = starter
    this.#clock = clock
    this.#telemetry = telemetry
  }

  async start(
    workflow: Workflow,
    items: unknown,
    options: StartManyOptions | undefined,
    prepare: () => Promise<void>,
  ): Promise<readonly (Started | StartedOrError)[]> {
    const { mode, tx } = parseStartManyOptions(options)
    if (!Array.isArray(items)) {
      throw new ArgumentError(`startMany: items got ${describeValue(items)}.`, {
        field: 'items',
        remedy: 'Give an array of { input, … }.',
      })
    }
    return items.length === 0 ? [] : await this[mode](workflow, items, tx, prepare)
  }

  async all(
    workflow: Workflow,
    items: readonly unknown[],
    tx: Queryable | undefined,
    prepare: () => Promise<void>,
  ): Promise<Started[]> {
    const made: Start[] = []
    for (const [index, item] of items.entries()) made.push(await this.#make(workflow, item, index))
    const send = async (starts: readonly Start[]): Promise<Started[]> => {
      if (!tx) await prepare()
      return await this.#starter.startTogether(
        starts,
        (rows) => starts.map((start, index) => named(index, () => readStarted(start, rows[index]!))),
        tx,
      )
    }
    return await this.#telemetry.starting(made, send, (started) => started)
  }

  async each(
    workflow: Workflow,
    items: readonly unknown[],
    tx: Queryable | undefined,
    prepare: () => Promise<void>,
  ): Promise<StartedOrError[]> {
    const made = await Promise.all(items.map((item, index) => caught(this.#make(workflow, item, index))))
    const good = made.filter((each): each is Start => !('error' in each))
    const sendAll = async (starts: readonly Start[]): Promise<StartedOrError[]> => {
      const send = await this.#sender(starts, tx, prepare)
      const next = starts.values()
      return await Promise.all(
        made.map(async (each, index) => {
          if ('error' in each) return each
          const start = next.next().value!
          return await caught(naming(index, async () => await send(start)))
        }),
      )
    }
    return await this.#telemetry.starting(good, sendAll, (all) =>
      all.filter((each): each is Started => !('error' in each)),
    )
  }

  /** In a caller's transaction they go together, and otherwise with whatever else is started just now. */
  async #sender(
    starts: readonly Start[],
    tx: Queryable | undefined,
    prepare: () => Promise<void>,
  ): Promise<(start: Start) => Promise<Started> | Started> {
    if (tx) {
      const rows = await this.#starter.startIn(tx, starts)
      const rowOf = new Map(starts.map((start, index) => [start, rows[index]!]))
      return (start) => readStarted(start, rowOf.get(start)!)
    }
    await prepare()
    return (start) => this.#starter.send(start)
  }

  async #make(workflow: Workflow, item: unknown, index: number): Promise<Start> {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      throw new ArgumentError(`items[${index}] is ${describeValue(item)}.`, {
        field: `items[${index}]`,
        remedy: 'Give { input, … } with the options of start.',
      })
    }
    const { input, ...options } = item as { input?: unknown } & StartOptions
    if ('tx' in options) {
      throw new ArgumentError(`items[${index}].tx: the items of a batch have no transaction of their own.`, {
        field: `items[${index}].tx`,
        remedy: 'Give tx to startMany.',
      })
    }
    return await naming(index, () => makeStart(workflow, input, options, this.#clock))
  }
}

async function caught<T>(work: Promise<T>): Promise<T | { readonly error: Error }> {
  try {
    return await work
  } catch (error) {
    return { error: error as Error }
  }
}

async function naming<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw placed(error, index)
  }
}

function named<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw placed(error, index)
  }
}

/** The same error, which says which item it is about. */
function placed(error: unknown, index: number): unknown {
  if (!(error instanceof HoldfastError)) return error
  const place = `items[${index}]`
  const field = error.field === undefined ? place : `${place}.${error.field}`
  return Object.assign(error, { field, message: `${place}: ${error.message}` })
}
