import { LeaseLostError, type MismatchError } from '../model/errors.ts'
import type { Journal } from '../model/journal.ts'
import type { Logger } from '../model/logger.ts'
import type { Outcome } from '../model/outcome.ts'
import { storableText } from '../model/storable.ts'
import { storeError } from '../model/stored-error.ts'
import type { Definition } from '../model/workflow.ts'
import type { Deliveries } from './deliveries.ts'
import type { Scope } from './scope.ts'

export interface MismatchOptions {
  readonly definition: Definition
  readonly journal: Journal
  readonly log: Logger
}

const keyStart = '[mismatch]'
const longestReason = 8 * 1024

/** What becomes of a claim whose handler went another way than its record, as the workflow's `onMismatch` says. */
export class Mismatch {
  readonly #options: MismatchOptions
  readonly #scope: Scope
  readonly #stop: (outcome: Outcome, refusal: Error) => void
  #isMet = false

  constructor(options: MismatchOptions, scope: Scope, stop: (outcome: Outcome, refusal: Error) => void) {
    this.#options = options
    this.#scope = scope
    this.#stop = stop
  }

  /** It ends the claim. */
  get isFinal(): boolean {
    return this.#options.definition.onMismatch !== 'warn'
  }

  meet(error: MismatchError, deliveries: Deliveries): void {
    if (this.#isMet) return
    this.#isMet = true
    const { definition, log } = this.#options
    log.warn({ error, step: error.field }, error.message)
    if (definition.onMismatch === 'fail') {
      this.#stop({ kind: 'failed', failure: 'rejected', reason: error.message, error: storeError(error) }, error)
    } else if (definition.onMismatch === 'park') void this.#park(error, deliveries)
  }

  /** Nothing more of the handler counts; the run waits for a person, and then goes its way anew. */
  async #park(error: MismatchError, deliveries: Deliveries): Promise<void> {
    const { journal } = this.#options
    this.#scope.close()
    const round = journal.memos.filter((memo) => memo.key.startsWith(keyStart)).length + 1
    const key = `${keyStart}${round}`
    const reason = storableText(error.message, longestReason)
    const { seq } = deliveries.make()
    try {
      await journal.open({ key, kind: 'park', reason, ordinal: 0, seq })
      this.#stop({ kind: 'suspended', wakeMs: undefined, isParked: true }, error)
    } catch (thrown) {
      const lost: Outcome | undefined =
        thrown instanceof LeaseLostError ? { kind: 'lost', reason: thrown.reason } : undefined
      this.#stop(lost ?? { kind: 'released' }, error)
    }
  }
}
