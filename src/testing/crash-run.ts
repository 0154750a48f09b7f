import { nextOf, type Next } from '../db/test-calls.ts'
import { CrashClaims, type History, type PlayedClaim } from './crash-claim.ts'
import type { CrashFuse } from './crash-fuse.ts'
import { CrashMail, type PlannedSignal } from './crash-mail.ts'
import { outcomeOf, type Ended } from './crash-outcome.ts'
import type { CrashSubjects } from './crash-subjects.ts'
import type { TestDatabase } from './test-database.ts'

export interface PlayedRun {
  /** Undefined: it did not end. */
  readonly ended: Ended | undefined
  /** Of the runs of its family that are done. */
  readonly histories: readonly History[]
  /** Steps whose bodies ran although their outcomes were kept. */
  readonly ranAgain: readonly string[]
  /** The step at which a claim left the way on record. */
  readonly strayed: string | undefined
}

export interface CrashRunsOptions {
  readonly database: TestDatabase
  readonly subjects: CrashSubjects
  readonly input: unknown
  readonly signals: readonly PlannedSignal[]
  /** What a person answers to a run that is parked, by the key of its step. */
  readonly answers: Readonly<Record<string, unknown>>
  /** How long one claim may take. */
  readonly timeoutMs: number
}

/** More claims of one family are a run that never ends. */
const mostClaims = 1_000

/**
 * Takes runs to their ends, claim by claim: each with its family, that is its children, whatever goes on after them, and
 * what undoes them. One run goes on at a time, so that nothing depends on which is faster; time moves when none can.
 */
export class CrashRuns {
  readonly #options: CrashRunsOptions
  readonly #claims: CrashClaims

  constructor(options: CrashRunsOptions) {
    const { database, subjects, timeoutMs } = options
    this.#options = options
    this.#claims = new CrashClaims({
      database: database.database,
      handlerClock: database.clock.handlerClock,
      subjects,
      timeoutMs,
    })
  }

  /** Starts a run and plays it to its end; its process, or that of one of its family, dies where the fuse says. */
  async play(fuse: CrashFuse): Promise<PlayedRun> {
    const { subjects, input, database, signals, answers } = this.#options
    const { client } = database
    const { id } = await client.start(subjects.main, input)
    const mail = new CrashMail(client, id, signals)
    await mail.send()
    const story = new Story()
    for (let claims = 0; claims < mostClaims;) {
      const next = await this.#next(id, mail)
      if (next?.id === undefined) {
        if (!next || next.isOver || !(await mail.send(next.atMs))) break
        continue
      }
      if (next.step !== undefined) {
        await client.unpark({ id: next.id }, answers[next.step], { step: next.step })
        continue
      }
      const subject = subjects.of(next.workflow)
      const of = next.id === id ? '' : ` of a run of "${next.workflow}"`
      const played = await this.#claims.play(next.id, subject, fuse, of)
      if (!played) break
      story.add(next.id, played)
      claims += 1
    }
    return { ended: await this.#endOf(id), ...story.told }
  }

  async #next(id: string, mail: CrashMail): Promise<Next | undefined> {
    const { database, answers } = this.#options
    const next = await nextOf(database.database, id, Object.keys(answers), mail.nextMs)
    if (!next) return undefined
    database.clock.aheadMs = next.aheadMs
    mail.startedMs ??= next.atMs
    return next
  }

  async #endOf(id: string): Promise<Ended | undefined> {
    const { client } = this.#options.database
    for (let runId = id; ;) {
      const view = await client.get(runId)
      if (!view?.endedAt) return undefined
      if (view.continuedAs === undefined) return { runId: id, outcome: outcomeOf(view) }
      runId = view.continuedAs
    }
  }
}

/** What the claims of one family have come to. */
class Story {
  readonly #histories: History[] = []
  readonly #ranAgain: string[] = []
  readonly #kept = new Set<string>()
  #strayed: string | undefined

  get told(): Omit<PlayedRun, 'ended'> {
    return { histories: this.#histories, ranAgain: this.#ranAgain, strayed: this.#strayed }
  }

  add(runId: string, { began, kept, strayed, history }: PlayedClaim): void {
    this.#ranAgain.push(...began.filter((key) => this.#kept.has(`${runId}/${key}`)))
    for (const key of kept) this.#kept.add(`${runId}/${key}`)
    this.#strayed ??= strayed
    if (history) this.#histories.push(history)
  }
}
