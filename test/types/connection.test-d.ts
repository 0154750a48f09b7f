// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import type { Pool, PoolClient } from 'pg'
import { createClient, createWorker, migrate } from '../../src/index.ts'
import type {
  Client,
  ClientOptions,
  LogFields,
  Logger,
  MigrateMode,
  MigrateResult,
  Queryable,
  Worker,
  WorkerOptions,
  Workflow,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const pool: Pool
declare const poolClient: PoolClient
declare const workflows: readonly Workflow[]

// what pg has is taken as it is, and so are loggers
const queryable: Queryable = poolClient
const logger: Logger = console
const ownLogger: Logger = {
  debug: (fields, message) => void [fields, message],
  info: (fields) => {
    expectType<Equal<typeof fields, LogFields>>()
    expectType<Equal<LogFields, Readonly<Record<string, unknown>>>>()
  },
  warn: () => {},
  error: () => {},
}
void [queryable, logger, ownLogger]
// @ts-expect-error -- the other levels are missing
const halfLogger: Logger = { info: () => {} }
// @ts-expect-error -- no query
const noQueryable: Queryable = { execute: () => Promise.resolve({ rows: [] }) }
void [halfLogger, noQueryable]

// createClient
const clientOptions: ClientOptions = { pool, schema: 'holdfast', migrate: 'verify', logger: console }
expectType<Equal<ReturnType<typeof createClient>, Client>>()
createClient(clientOptions)
createClient({ connectionString: process.env['DATABASE_URL'] })
createClient()
expectType<Equal<MigrateMode, 'auto' | 'verify' | 'off'>>()
// @ts-expect-error -- no such mode
createClient({ migrate: 'always' })
// @ts-expect-error -- no pool
createClient({ pool: {} })
// @ts-expect-error -- no such option
createClient({ connection: 'postgres://' })
// @ts-expect-error -- options, not an address
createClient('postgres://')

// createWorker
const client = createClient()
const workerOptions: WorkerOptions = { workflows, connectionString: 'postgres://', concurrency: 4, grace: '20s' }
const worker = createWorker(workerOptions)
createWorker({ workflows, client, handleSignals: true, logger: undefined })
createWorker({ workflows, pool, schema: 'holdfast', migrate: 'off' })
expectType<Equal<typeof worker, Worker>>()
expectType<Equal<ReturnType<typeof worker.start>, Promise<void>>>()
expectType<Equal<ReturnType<typeof worker.stop>, Promise<void>>>()
expectType<Equal<typeof worker.done, Promise<void>>>()
void worker.stop({ grace: 5000 })
// @ts-expect-error -- a duration
void worker.stop({ grace: true })
// @ts-expect-error -- its options have names
void worker.stop('5s')
// @ts-expect-error -- read only
worker.done = Promise.resolve()
// @ts-expect-error -- workflows are required
createWorker({ concurrency: 4 })
// @ts-expect-error -- so are the options
createWorker()
// @ts-expect-error -- no such option
createWorker({ workflows, concurency: 4 })
// @ts-expect-error -- workflows, not handlers
createWorker({ workflows: [async () => {}] })
// @ts-expect-error -- what createClient returned, not what a client can do
createWorker({ workflows, client: { start: () => {}, close: () => {} } })
// @ts-expect-error -- slots are a number
createWorker({ workflows, concurrency: '4' })

// migrate
const migrated = migrate({ connectionString: 'postgres://', schema: 'holdfast' })
expectType<Equal<typeof migrated, Promise<MigrateResult>>>()
expectType<Equal<MigrateResult, { readonly applied: readonly string[]; readonly isFunctionsReplaced: boolean }>>()
void migrate()
// @ts-expect-error -- it is what migrates
void migrate({ migrate: 'off' })
