import { findRun, listRuns, readInfo, type RunFilter } from '../db/run-calls.ts'
import type { Database } from '../db/database.ts'
import { whyRun } from '../db/limit-calls.ts'
import { parseListFilter, type ListFilter } from '../define/list-filter.ts'
import type { Clock } from '../model/clock.ts'
import { NotFoundError } from '../model/errors.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { toInfo, type Info } from './info.ts'
import { toWhy, type Why } from './why.ts'
import { resend } from './resend.ts'
import { toClaimViews, toRunView, type RunView } from './run-view.ts'
import { readWhich, type Which } from './which.ts'

/** A part of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Give it to the next call; undefined: this was the last page. */
  readonly cursor: string | undefined
}

/** A run, and a text that is another one after each change. */
export interface Sight {
  readonly view: RunView
  readonly revision: string
}

/** Looks at runs. */
export class Reader {
  readonly #database: Database
  readonly #clock: Clock

  readonly #ready: () => Promise<void>

  readonly #traceUrl: string | undefined

  /** `ready` resolves once the schema is there. `traceUrl`: the address of a trace. */
  constructor(database: Database, clock: Clock, ready: () => Promise<void>, traceUrl?: string) {
    this.#database = database
    this.#traceUrl = traceUrl
    this.#clock = clock
    this.#ready = ready
  }

  async find(run: Which): Promise<Sight | undefined> {
    const which = readWhich(run)
    await this.#ready()
    const found = await resend(this.#clock, () => findRun(this.#database, which))
    if (!found) return undefined
    const claims = toClaimViews(found.claims, this.#traceUrl)
    const view = { ...toRunView(found.run), ahead: found.ahead ?? undefined, claims }
    return { view, revision: found.revision }
  }

  /** Throws NotFoundError. */
  async require(run: Which): Promise<Sight> {
    const sight = await this.find(run)
    if (sight) return sight
    return notFound(typeof run === 'string' ? run : JSON.stringify(readWhich(run)))
  }

  /** The id that a run is named by. Throws NotFoundError for a key that names none; an id is not looked up. */
  async idOf(run: Which): Promise<string> {
    const { id } = readWhich(run)
    if (id === undefined) return (await this.require(run)).view.id
    await this.#ready()
    return id
  }

  async list(given: ListFilter | undefined): Promise<Page<RunView>> {
    const { limit, cursor, ...rest } = parseListFilter(given)
    const filter: RunFilter = {
      workflows: rest.workflow,
      states: rest.state,
      key_prefix: rest.keyPrefix,
      group_key: rest.group,
      created_after: rest.createdAfter?.toISOString(),
      created_before: rest.createdBefore?.toISOString(),
      metadata: rest.metadata,
    }
    const items: RunView[] = []
    let before = cursor === undefined ? undefined : readCursor(cursor)
    await this.#ready()
    // One call looks at so many runs and no more, however few of them fit.
    do {
      const from = before
      const left = limit - items.length
      const page = await resend(this.#clock, () => listRuns(this.#database, filter, from, left))
      items.push(...page.runs.map(toRunView))
      before = page.next
    } while (items.length < limit && before !== undefined)
    return { items, cursor: before === undefined ? undefined : writeCursor(before) }
  }

  /** Throws NotFoundError. */
  async why(run: Which): Promise<Why> {
    const id = await this.idOf(run)
    const why = await resend(this.#clock, () => whyRun(this.#database, id))
    return toWhy(why ?? notFound(id))
  }

  async info(): Promise<Info> {
    await this.#ready()
    return toInfo(await resend(this.#clock, () => readInfo(this.#database)))
  }
}

function notFound(run: string): never {
  throw new NotFoundError(`There is no run ${run}.`, {
    field: 'run',
    remedy: 'It may have been removed after its time, or be in another schema or database.',
  })
}
