import { Batcher } from '../db/batcher.ts'
import { explain } from '../db/database-errors.ts'
import type { Database } from '../db/database.ts'
import { listParked, sendSignals, unparkRun, type SignalItem, type SignalRow } from '../db/wait-calls.ts'
import { readSignal } from '../define/define-signal.ts'
import {
  parseSendOptions,
  parseUnparkOptions,
  type SendOptions,
  type UnparkOptions,
} from '../define/message-options.ts'
import { parseSignal } from '../define/parse-schema.ts'
import type { Clock } from '../model/clock.ts'
import { encode } from '../model/codec.ts'
import { ArgumentError, InvalidStateError, NotFoundError, RunEndedError } from '../model/errors.ts'
import { uuidv4 } from '../model/id.ts'
import type { Signal } from '../model/signal.ts'
import type { Reader } from './reader.ts'
import { resend } from './resend.ts'
import { readWhich, type Which } from './which.ts'

/** A run that waits for a person. */
export interface Parked {
  readonly run: string
  readonly workflow: string
  readonly key: string | undefined
  /** What it is parked at. */
  readonly step: string
  /** What is to be decided. */
  readonly reason: string
  readonly since: Date
  /** When its time is over, if it has one. */
  readonly until: Date | undefined
}

const mostParked = 1_000

/** Sends signals to runs, and answers to those that wait for a person. Concurrent signals share a commit. */
export class Messenger {
  readonly #database: Database
  readonly #clock: Clock
  readonly #reader: Reader
  readonly #batcher: Batcher<SignalItem, SignalRow>

  constructor(database: Database, clock: Clock, reader: Reader) {
    this.#database = database
    this.#clock = clock
    this.#reader = reader
    this.#batcher = new Batcher({
      clock,
      sizeOf: (item) => item.payload.length + (item.types?.length ?? 0) + 300,
      // The ids make it safe to send them again.
      flush: (items) => resend(clock, () => sendSignals(database, items)),
    })
  }

  async signal(
    run: Which,
    given: Signal | string,
    payload: unknown,
    options: SendOptions | undefined,
    ready: () => Promise<void>,
  ): Promise<void> {
    const { id, tx } = parseSendOptions(options)
    const { name, schema } = readSignal(given)
    const which = readWhich(run)
    const { json, types } = encode(payload, 'payload')
    await parseSignal(schema, name, payload)
    const item: SignalItem = {
      id: id ?? uuidv4(this.#clock),
      run: which.id,
      workflow: which.workflow,
      key: which.key,
      name,
      payload: json,
      types,
      by: undefined,
    }
    const row = tx ? await this.#sendIn(tx, item) : await ready().then(() => this.#batcher.add(item))
    if (row?.outcome === 'ended') {
      throw new RunEndedError(`The run has ended, so "${name}" does not reach it.`, {
        field: 'run',
        remedy: 'Look at it with get, or start a new one.',
      })
    }
  }

  async unpark(run: Which, answer: unknown, options: UnparkOptions | undefined): Promise<void> {
    const { step, by } = parseUnparkOptions(options)
    const id = await this.#reader.idOf(run)
    const encoded = encode(answer, 'answer')
    const { outcome, steps } = await unparkRun(this.#database, id, step, encoded, by)
    if (outcome === 'answered') return
    if (outcome === 'not_found') throw new NotFoundError(`There is no run ${id}.`, { field: 'run' })
    if (outcome === 'ambiguous') {
      throw new ArgumentError(`Run ${id} is parked at ${steps.join(' and ')}.`, {
        field: 'step',
        remedy: 'Say which: { step }.',
      })
    }
    const at = step === undefined ? '' : ` at "${step}"`
    throw new InvalidStateError(
      outcome === 'answered_before' ? `Run ${id} was answered before.` : `Run ${id} is not parked${at}.`,
      { field: 'run', remedy: 'See what waits for a person: workflow parked.' },
    )
  }

  async parked(workflow: string | undefined): Promise<Parked[]> {
    const rows = await resend(this.#clock, () => listParked(this.#database, workflow, mostParked))
    return rows.map((json) => {
      const row = JSON.parse(json) as Omit<Parked, 'since' | 'until' | 'key'> &
        Record<'since', string> &
        Record<'until' | 'key', string | null>
      return {
        ...row,
        key: row.key ?? undefined,
        since: new Date(row.since),
        until: row.until === null ? undefined : new Date(row.until),
      }
    })
  }

  async #sendIn(tx: NonNullable<SendOptions['tx']>, item: SignalItem): Promise<SignalRow | undefined> {
    const [row] = await sendSignals(this.#database, [item], tx).catch((error: unknown) => {
      throw explain(error)
    })
    if (row) return row
    throw new ArgumentError('The transaction answered nothing.', {
      field: 'tx',
      remedy: "Pass something whose query(text, values) answers { rows }, as pg's does.",
    })
  }
}
