import type { Clock } from '../model/clock.ts'
import { formatDuration } from '../model/duration.ts'
import { ResultTimeoutError, RunCancelledError, RunFailedError, UnserializableError } from '../model/errors.ts'
import { isFinal } from '../model/state.ts'
import type { Reader } from './reader.ts'
import { toRunView, type RunView } from './run-view.ts'
import type { RunWatch } from './run-watch.ts'
import type { Which } from './which.ts'

/** Waits for the ends of runs, and follows them there. */
export class Waiter {
  readonly #reader: Reader
  readonly #watch: RunWatch
  readonly #clock: Clock

  constructor(reader: Reader, watch: RunWatch, clock: Clock) {
    this.#reader = reader
    this.#watch = watch
    this.#clock = clock
  }

  async result(run: Which, limitMs: number | undefined, abortSignal: AbortSignal | undefined): Promise<unknown> {
    const id = await this.#reader.idOf(run)
    return await this.#within(limitMs, id, abortSignal, async (signal) => {
      for (let next = id; ;) {
        const look = await this.#watch.end(next, signal)
        const view = look.run === null ? (await this.#reader.require(next)).view : toRunView(look.run)
        if (view.continuedAs === undefined) return outputOf(view)
        next = view.continuedAs
      }
    })
  }

  /** The run now, then as it is after each change; changes that follow each other fast are one. Ends with the run. */
  async *watch(run: Which, abortSignal: AbortSignal | undefined): AsyncGenerator<RunView, void, undefined> {
    abortSignal?.throwIfAborted()
    let { view, revision } = await this.#reader.require(run)
    for (;;) {
      yield view
      if (isFinal(view.state)) return
      await this.#watch.change(view.id, revision, abortSignal)
      ;({ view, revision } = await this.#reader.require(view.id))
    }
  }

  async #within<T>(
    limitMs: number | undefined,
    id: string,
    abortSignal: AbortSignal | undefined,
    work: (abortSignal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    if (limitMs === undefined) return await work(abortSignal)
    const limit = new AbortController()
    const timer = this.#clock.after(limitMs, () => {
      limit.abort(new ResultTimeoutError(`Run ${id} has not ended after ${formatDuration(limitMs)}. It goes on.`))
    })
    try {
      return await work(AbortSignal.any(abortSignal ? [abortSignal, limit.signal] : [limit.signal]))
    } finally {
      timer.cancel()
    }
  }
}

function outputOf(view: RunView): unknown {
  if (view.output instanceof UnserializableError) throw view.output
  if (view.state === 'done') return view.output
  const { id, reason, lastError: cause } = view
  const because = reason === undefined ? '' : `: ${reason}`
  if (view.state === 'cancelled') throw new RunCancelledError(`Run ${id} was cancelled${because}.`, id)
  const failure = view.failure ?? 'rejected'
  throw new RunFailedError(`Run ${id} of "${view.workflow}" failed (${failure})${because}`, failure, id, { cause })
}
