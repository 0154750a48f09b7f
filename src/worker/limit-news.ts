import type { Database } from '../db/database.ts'
import { recordDefinitions } from '../db/record-definitions.ts'
import type { Registry } from '../define/registry.ts'
import type { Logger } from '../model/logger.ts'

/** Puts a worker's definitions on record, and says once of each workflow whose limits are not those in force what they are. */
export class LimitNews {
  readonly #database: Database
  readonly #registry: Registry
  readonly #log: Logger
  /** The limits last told of, by workflow. */
  readonly #told = new Map<string, string>()

  constructor(database: Database, registry: Registry, log: Logger) {
    this.#database = database
    this.#registry = registry
    this.#log = log
  }

  /** They have changed. */
  look(): void {
    this.compare().catch((error: unknown) => this.#log.warn({ error }, 'Limits could not be compared.'))
  }

  async compare(): Promise<void> {
    const standing = await recordDefinitions(this.#database, this.#registry.workflows)
    for (const { workflow, in_force: inForce, is_set: isSet } of standing) {
      if (this.#told.get(workflow) === inForce) continue
      this.#told.set(workflow, inForce)
      this.#log.warn(
        { workflow, limits: JSON.parse(inForce) as unknown },
        isSet
          ? 'An operator has set other limits than this definition has; theirs are in force.'
          : 'A newer definition has other limits than this one; its are in force.',
      )
    }
  }
}
