import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import knexOf from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect, sql as kyselySql } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { fromDrizzle, fromKnex, fromKysely, fromPostgresJs, fromPrisma } from '../../src/adapters.ts'
import type { Queryable } from '../../src/index.ts'
import { generatePrismaClient } from '../support/prisma-client.ts'

/** A transaction of a library, as its users have it. */
export interface Inside {
  readonly tx: Queryable
  /** Runs SQL by the library's own means. */
  run(text: string): PromiseLike<unknown>
}

export interface Library {
  /** Runs `work` in a transaction, which commits when it returns and rolls back when it throws. */
  transaction(work: (inside: Inside) => Promise<void>): Promise<unknown>
  end(): Promise<unknown>
}

export const libraries: Readonly<Record<string, (connectionString: string) => Library | Promise<Library>>> = {
  pg: (connectionString) => {
    const pool = new pg.Pool({ connectionString })
    return {
      transaction: async (work) => {
        const client = await pool.connect()
        try {
          await client.query('begin')
          await work({ tx: client, run: (text) => client.query(text) })
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
      end: () => pool.end(),
    }
  },
  'postgres.js': (connectionString) => {
    const sql = postgres(connectionString, { onnotice: () => undefined })
    return {
      transaction: (work) => sql.begin((tx) => work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) })),
      end: () => sql.end(),
    }
  },
  Kysely: (connectionString) => {
    const pool = new pg.Pool({ connectionString })
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] })
    return {
      transaction: (work) =>
        db
          .transaction()
          .execute((trx) => work({ tx: fromKysely(trx), run: (text) => kyselySql.raw(text).execute(trx) })),
      end: () => db.destroy(),
    }
  },
  Knex: (connectionString) => {
    const knex = knexOf({ client: 'pg', connection: connectionString })
    return {
      transaction: (work) =>
        knex.transaction((trx) => work({ tx: fromKnex(trx), run: async (text) => await trx.raw(text) })),
      end: () => knex.destroy(),
    }
  },
  'Drizzle on pg': (connectionString) => {
    const pool = new pg.Pool({ connectionString })
    const db = drizzle({ client: pool })
    return {
      transaction: (work) =>
        db.transaction((tx) =>
          work({ tx: fromDrizzle(tx, drizzleSql), run: async (text) => await tx.execute(drizzleSql.raw(text)) }),
        ),
      end: () => pool.end(),
    }
  },
  'Drizzle on postgres.js': (connectionString) => {
    const client = postgres(connectionString, { onnotice: () => undefined })
    const db = drizzleOnPostgresJs({ client })
    return {
      transaction: (work) =>
        db.transaction((tx) =>
          work({ tx: fromDrizzle(tx, drizzleSql), run: async (text) => await tx.execute(drizzleSql.raw(text)) }),
        ),
      end: () => client.end(),
    }
  },
  Prisma: async (connectionString) => {
    const folder = mkdtempSync(join(import.meta.dirname, '.prisma-'))
    const prisma = new (await generateClient(folder))({ adapter: new PrismaPg({ connectionString }) })
    return {
      transaction: (work) =>
        prisma.$transaction((tx) => work({ tx: fromPrisma(tx), run: (text) => tx.$executeRawUnsafe(text) })),
      end: async () => {
        await prisma.$disconnect()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): Promise<unknown>
  $executeRawUnsafe(text: string): Promise<number>
}

interface PrismaClient {
  $transaction(work: (tx: PrismaTransaction) => Promise<void>): Promise<void>
  $disconnect(): Promise<void>
}

type PrismaClass = new (options: { adapter: PrismaPg }) => PrismaClient

async function generateClient(folder: string): Promise<PrismaClass> {
  generatePrismaClient(new URL('schema.prisma', import.meta.url), folder)
  const { PrismaClient } = (await import(join(folder, 'generated', 'client.ts'))) as { PrismaClient: PrismaClass }
  return PrismaClient
}
