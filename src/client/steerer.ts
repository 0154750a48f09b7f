import { askCancel, cancelRun, deleteRun, retryRun } from '../db/run-calls.ts'
import { explain } from '../db/database-errors.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../model/clock.ts'
import { formatDuration } from '../model/duration.ts'
import { InvalidStateError, KeyTakenError } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import type { Reader } from './reader.ts'
import { resend } from './resend.ts'
import type { RunView } from './run-view.ts'
import type { Which } from './which.ts'

/** Cancels, retries and deletes runs. */
export class Steerer {
  readonly #database: Database
  readonly #clock: Clock
  readonly #reader: Reader

  constructor(database: Database, clock: Clock, reader: Reader) {
    this.#database = database
    this.#clock = clock
    this.#reader = reader
  }

  async cancel(run: Which, reason: string | undefined, tx: Queryable | undefined): Promise<RunView> {
    const { view } = await this.#reader.require(run)
    if (tx) {
      await askCancel(this.#database, view.id, reason, tx).catch((error: unknown) => {
        throw explain(error)
      })
      return view
    }
    await resend(this.#clock, () => cancelRun(this.#database, view.id, reason))
    return await this.#look(view.id)
  }

  async retry(run: Which, isFresh: boolean): Promise<RunView> {
    const { id, state, key } = await this.#look(run)
    const outcome = await retryRun(this.#database, id, isFresh)
    if (outcome === 'retried') return await this.#look(id)
    if (outcome === 'key_taken') {
      throw new KeyTakenError(`The key ${JSON.stringify(key)} names another run now.`, {
        field: 'key',
        remedy: 'Start a new run, or wait for that one to end.',
      })
    }
    if (outcome === 'undoing') {
      throw new InvalidStateError(`The steps of run ${id} are being undone.`, {
        field: 'run',
        remedy: 'Retry it once that has ended.',
      })
    }
    if (outcome === 'outrun') {
      throw new InvalidStateError(`The run whose steps run ${id} undoes has gone on since.`, {
        field: 'run',
        remedy: 'Look at that one: its latest rollback is in what get answers.',
      })
    }
    if (outcome === 'expired') {
      throw new InvalidStateError(`The time for which run ${id} is kept is over.`, {
        field: 'run',
        remedy: 'Start a new run; raise keep or keepDone to have longer.',
      })
    }
    throw new InvalidStateError(`Run ${id} is ${state}.`, {
      field: 'run',
      remedy: 'Only failed and cancelled runs can be retried.',
    })
  }

  /** False: there is no such run. */
  async delete(run: Which): Promise<boolean> {
    const sight = await this.#reader.find(run)
    if (!sight) return false
    const { id, state } = sight.view
    const deletion = await resend(this.#clock, () => deleteRun(this.#database, id))
    if (deletion?.outcome === 'not_ended') {
      throw new InvalidStateError(`Run ${id} is ${state}.`, { field: 'run', remedy: 'Cancel it first.' })
    }
    if (deletion?.outcome === 'too_early') {
      const wait = formatDuration(Math.ceil((deletion.wait_ms ?? 0) / 1000) * 1000)
      throw new InvalidStateError(`Run ${id} may be deleted in ${wait}.`, {
        field: 'run',
        remedy: 'A run stays for ten minutes after its end, and for as long as its key is taken (dedupe).',
      })
    }
    return deletion !== undefined
  }

  async #look(run: Which): Promise<RunView> {
    return (await this.#reader.require(run)).view
  }
}
