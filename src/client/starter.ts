import { Batcher } from '../db/batcher.ts'
import { startRuns, type StartItem, type StartRow } from '../db/calls.ts'
import { explain } from '../db/database-errors.ts'
import type { Database } from '../db/database.ts'
import { parseInput } from '../define/parse-schema.ts'
import { parseStartOptions, type ResolvedStartOptions } from '../define/parse-start-options.ts'
import type { StartOptions } from '../define/start-options.ts'
import type { Clock } from '../model/clock.ts'
import { encode } from '../model/codec.ts'
import { ArgumentError, IdConflictError, KeyReusedError } from '../model/errors.ts'
import { uuidv7 } from '../model/id.ts'
import type { Logger } from '../model/logger.ts'
import type { State } from '../model/state.ts'
import { unstorable } from '../model/storable.ts'
import type { Workflow } from '../model/workflow.ts'
import { boundLogger, silentLogger } from '../trace/bound-logger.ts'
import { resend } from './resend.ts'

/** A run by its id; what `start` returned is one. */
export interface RunRef<O = unknown> {
  readonly id: string
  /** Types only; never there at run time. */
  readonly '~output'?: O
}

export interface Started<O = unknown> extends RunRef<O> {
  /** False: the id or key named a run that was there already, and nothing was added. */
  readonly created: boolean
  readonly state: State
}

const longestGroup = 512

/** Starts runs. Concurrent starts outside a caller's transaction share a statement and a commit. */
export class Starter {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Logger
  readonly #batcher: Batcher<StartItem, StartRow>

  constructor(database: Database, clock: Clock, log?: Logger) {
    this.#database = database
    this.#clock = clock
    this.#log = boundLogger(log ?? silentLogger, { from: 'client' })
    this.#batcher = new Batcher({
      clock,
      sizeOf: (item) => item.input.length + (item.input_types?.length ?? 0) + 400,
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
    const options = parseStartOptions(given, workflow.name)
    const item = await this.#item(workflow, input, options)
    const row = options.tx ? await this.#inTransaction(item, options.tx) : await this.#alone(item, prepare)
    if (!row.is_same_workflow) {
      throw new IdConflictError(`The id ${item.id} is that of a run of another workflow.`, {
        field: 'id',
        remedy: 'Leave the id out, or use one id for one run.',
      })
    }
    if (!row.is_same_input && !options.allowDifferentInput) {
      throw new KeyReusedError(`"${options.key ?? item.id}" names a run that was started with another input.`, {
        field: options.key === undefined ? 'id' : 'key',
        remedy: 'Use another key, or pass allowDifferentInput: true to get that run.',
      })
    }
    // An id made here cannot name an older run: if it is there, a reply was lost on the way.
    const isOwn = options.id === undefined && row.id === item.id
    return { id: row.id, created: row.is_created || isOwn, state: row.state }
  }

  async #item({ name, definition }: Workflow, input: unknown, options: ResolvedStartOptions): Promise<StartItem> {
    const encoded = encode(input, 'input')
    const parsed = await parseInput(definition, input)
    return {
      id: options.id ?? uuidv7(this.#clock),
      workflow: name,
      key: options.key,
      group_key: readGroup(definition.group?.(parsed as never), name),
      priority: options.priority ?? definition.priority,
      max_attempts: options.maxAttempts ?? definition.maxAttempts,
      at: options.at?.toISOString(),
      delay_ms: options.delayMs,
      deadline_ms: definition.deadlineMs,
      dedupe_ms: definition.dedupeMs,
      metadata: Object.keys(options.metadata).length === 0 ? undefined : options.metadata,
      input: encoded.json,
      input_types: encoded.types,
    }
  }

  async #inTransaction(item: StartItem, tx: NonNullable<StartOptions['tx']>): Promise<StartRow> {
    try {
      return one(await startRuns(this.#database, [item], tx))
    } catch (error) {
      throw explain(error)
    }
  }

  async #alone(item: StartItem, prepare: () => Promise<void>): Promise<StartRow> {
    await prepare()
    return await this.#batcher.add(item)
  }

  async #flush(items: readonly StartItem[]): Promise<readonly StartRow[]> {
    const onLoss = (error: unknown): void =>
      this.#log.warn({ error, runs: items.length }, 'A start met connection loss; it is sent again under the same id.')
    // The ids make that safe.
    return await resend(this.#clock, () => startRuns(this.#database, items), onLoss)
  }
}

function one(rows: readonly StartRow[]): StartRow {
  const [row] = rows
  if (row) return row
  throw new ArgumentError('The transaction answered nothing.', {
    field: 'tx',
    remedy: "Pass something whose query(text, values) answers { rows }, as pg's does.",
  })
}

/** The group of a run, as `group` answered or the command line was given; undefined: none. */
export function readGroup(group: unknown, workflow: string): string | undefined {
  if (group === undefined) return undefined
  const problem =
    typeof group !== 'string'
      ? `is ${group === null ? 'null' : `a ${typeof group}`}`
      : group === '' || group.length > longestGroup
        ? `has ${group.length} characters`
        : unstorable(group)
  if (problem === undefined) return group as string
  throw new ArgumentError(`The group of a run of "${workflow}" ${problem}.`, {
    field: 'group',
    remedy: `group must answer a text of 1 to ${longestGroup} characters, or undefined for no group.`,
  })
}
