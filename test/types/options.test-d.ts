// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import type { Pool, PoolClient } from 'pg'
import type { ClientOptions } from '../../src/define/client-options.ts'
import type { Option } from '../../src/define/option.ts'
import type { WorkerOptions } from '../../src/define/worker-options.ts'
import type { Logger } from '../../src/model/logger.ts'
import type { Queryable } from '../../src/model/run.ts'
import type { Workflow } from '../../src/model/workflow.ts'
import { z } from 'zod'

declare const pool: Pool
declare const poolClient: PoolClient
declare const workflows: readonly Workflow[]

// what pg has is taken as it is
const client: ClientOptions = { pool, schema: 'holdfast', migrate: 'verify', logger: console }
const queryable: Queryable = poolClient
const logger: Logger = console
void [client, queryable, logger]

const worker: WorkerOptions = { workflows, connectionString: 'postgres://', concurrency: 4, grace: '20s' }
const beside: WorkerOptions<{ start(): void }> = { workflows, client: { start: () => {} }, handleSignals: true }
void [worker, beside]

// @ts-expect-error -- workflows are required
const without: WorkerOptions = { concurrency: 4 }
// @ts-expect-error -- no such option
const unknownOption: WorkerOptions = { workflows, concurency: 4 }
// @ts-expect-error -- no such mode
const wrongMode: ClientOptions = { migrate: 'always' }
// @ts-expect-error -- no pool
const wrongPool: ClientOptions = { pool: {} }
void [without, unknownOption, wrongMode, wrongPool]

// an option that always has a value declares a default or is required
const declared = { type: 'number', check: () => z.number(), doc: '' }
const maybe: Option<number | undefined> = declared
const always: Option<number> = { ...declared, default: 1 }
const required: Option<number> = { ...declared, isRequired: true }
// @ts-expect-error -- neither a default nor required
const neither: Option<number> = declared
// @ts-expect-error -- the check yields another type
const otherType: Option<string> = { ...declared, default: 1 }
void [maybe, always, required, neither, otherType]
