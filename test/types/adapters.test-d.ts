// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { sql as drizzleSql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type { Knex } from 'knex'
import type { Kysely, Transaction } from 'kysely'
import type { Pool } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import { fromDrizzle, fromKnex, fromKysely, fromPostgresJs, fromPrisma } from '../../src/adapters.ts'
import type { DrizzleLike, DrizzleSql, KnexLike, KyselyLike, PostgresJsLike, PrismaLike } from '../../src/adapters.ts'
import type { Client, Queryable, Workflow } from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const client: Client
declare const noted: Workflow<string, string, number>
declare const pool: Pool

interface Tables {
  notes: { text: string }
}

// postgres.js
declare const postgresTx: TransactionSql<{ bigint: bigint }>
declare const postgresSql: Sql
const overPostgresJs = fromPostgresJs(postgresTx)
expectType<Equal<typeof overPostgresJs, Queryable>>()
const likePostgresJs: PostgresJsLike = postgresSql
void likePostgresJs
// @ts-expect-error -- a pg pool
fromPostgresJs(pool)

// Kysely
declare const kyselyTx: Transaction<Tables>
declare const kysely: Kysely<Tables>
const overKysely = fromKysely(kyselyTx)
expectType<Equal<typeof overKysely, Queryable>>()
const likeKysely: KyselyLike = kysely
void likeKysely
// @ts-expect-error -- a pg pool
fromKysely(pool)
// @ts-expect-error -- a query, not the transaction
fromKysely(kyselyTx.selectFrom('notes'))

// Knex
declare const knexTx: Knex.Transaction
declare const knex: Knex
const overKnex = fromKnex(knexTx)
expectType<Equal<typeof overKnex, Queryable>>()
const likeKnex: KnexLike = knex
void likeKnex
// @ts-expect-error -- a pg pool
fromKnex(pool)

// Drizzle, on pg and on postgres.js
type Of<D extends { transaction: (work: never) => unknown }> = Parameters<Parameters<D['transaction']>[0]>[0]
declare const drizzleTx: Of<NodePgDatabase>
declare const drizzleOnPostgresTx: Of<PostgresJsDatabase>
const overDrizzle = fromDrizzle(drizzleTx, drizzleSql)
expectType<Equal<typeof overDrizzle, Queryable>>()
fromDrizzle(drizzleOnPostgresTx, drizzleSql)
const likeDrizzle: DrizzleLike = drizzleTx
const sqlOfDrizzle: DrizzleSql = drizzleSql
void [likeDrizzle, sqlOfDrizzle]
// @ts-expect-error -- its sql is needed too
fromDrizzle(drizzleTx)
// @ts-expect-error -- sql is a function
fromDrizzle(drizzleTx, 'sql')
// @ts-expect-error -- a pg pool
fromDrizzle(pool, drizzleSql)

// Prisma, whose client is generated: as the generator writes it
declare const prismaTx: {
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PrismaPromise<T>
  $executeRawUnsafe(query: string, ...values: unknown[]): PrismaPromise<number>
}
interface PrismaPromise<T> extends Promise<T> {
  [Symbol.toStringTag]: 'PrismaPromise'
}
const overPrisma = fromPrisma(prismaTx)
expectType<Equal<typeof overPrisma, Queryable>>()
const likePrisma: PrismaLike = prismaTx
void likePrisma
// @ts-expect-error -- a pg pool
fromPrisma(pool)

// what each gives is what a start takes
void client.start(noted, 'text', { tx: overDrizzle })
// @ts-expect-error -- the transaction itself is none of pg's
void client.start(noted, 'text', { tx: kyselyTx })
// @ts-expect-error -- the transaction itself is none of pg's
void client.start(noted, 'text', { tx: postgresTx })
