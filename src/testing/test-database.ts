import { Client } from '../client/client.ts'
import { Database } from '../db/database.ts'
import { connectionFromEnvironment, startEmbedded, type Embedded } from '../db/embedded.ts'
import { createThrowAway } from '../db/throw-away.ts'
import { systemClock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import { release } from '../model/release.ts'
import { migrate } from '../queue/migrate.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import { Telemetry } from '../trace/telemetry.ts'
import { TestClock } from './test-clock.ts'
import { TestTime } from './test-time.ts'

/** A database of one test's own, with what a client and a worker need to use it. */
export interface TestDatabase {
  readonly connectionString: string
  readonly database: Database
  readonly client: Client
  readonly clock: TestClock
  readonly time: TestTime
  /** Ends the client and drops the database. */
  close(): Promise<void>
}

export interface TestDatabaseOptions {
  readonly connectionString: string | undefined
  readonly logger: Logger | undefined
  /** Those whose runs time is moved for. */
  readonly workflows: readonly string[]
}

/** One server a process, which ends with it. */
let embedded: Promise<Embedded> | undefined

export async function openTestDatabase(options: TestDatabaseOptions): Promise<TestDatabase> {
  const server = options.connectionString ?? connectionFromEnvironment() ?? (await embeddedServer()).connectionString
  const { connectionString, drop } = await createThrowAway({
    connectionString: server,
    migrate: (database) => migrate(database, release),
    clock: systemClock,
  })
  const clock = new TestClock()
  const database = new Database({ connectionString, clock: clock.clock })
  const client = new Client({
    database,
    clock: clock.clock,
    log: options.logger,
    telemetry: new Telemetry({ schema: database.names.schema, log: options.logger ?? silentLogger }),
    prepare: () => Promise.resolve(),
  })
  return {
    connectionString,
    database,
    client,
    clock,
    time: new TestTime(database, clock, options.workflows),
    close: async () => {
      await client.close()
      await drop()
    },
  }
}

async function embeddedServer(): Promise<Embedded> {
  // Room for many runtimes at once.
  embedded ??= startEmbedded({ durable: false, settings: { max_connections: '300' } })
  try {
    return await embedded
  } catch (error) {
    embedded = undefined
    throw error
  }
}
