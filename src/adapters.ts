import type { Queryable } from './model/run.ts'

/**
 * Makes the transaction of another library one that `start`, `startMany`, `cancel` and `signal` take as `tx`. They are
 * written against what those libraries look like, and import none of them.
 *
 * What we send has its values as texts with explicit casts, and answers one column `answer` of text, so that nothing
 * depends on how a library reads or writes types.
 */

type Rows = readonly unknown[]

/** What of postgres.js is used. */
export interface PostgresJsLike {
  unsafe(text: string, values?: never[]): PromiseLike<Rows>
}

/** postgres.js: the `sql` of `sql.begin(async (sql) => …)`. */
export function fromPostgresJs(sql: PostgresJsLike): Queryable {
  return queryable((text, values) => sql.unsafe(text, values as never[]))
}

/** What of Kysely is used. */
export interface KyselyLike {
  executeQuery(query: never): PromiseLike<{ readonly rows: Rows }>
}

/** Kysely: the `trx` of `db.transaction().execute(async (trx) => …)`. */
export function fromKysely(trx: KyselyLike): Queryable {
  return queryable(async (text, values) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
    const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'holdfast' } }
    return (await trx.executeQuery(compiled as never)).rows
  })
}

/** What of Knex is used. */
export interface KnexLike {
  raw(text: string, bindings: never): PromiseLike<{ readonly rows: Rows }>
}

/** Knex: the `trx` of `knex.transaction(async (trx) => …)`. */
export function fromKnex(trx: KnexLike): Queryable {
  return queryable(async (text, values) => {
    const bindings: unknown[] = []
    const numbered = text.replace(/\$(\d+)/g, (_, place: string) => {
      bindings.push(values[Number(place) - 1])
      return '?'
    })
    return (await trx.raw(numbered, bindings as never)).rows
  })
}

/** What of Drizzle's transactions is used. */
export interface DrizzleLike {
  execute(query: never): PromiseLike<Rows | { readonly rows: Rows }>
}

/** The template tag `sql` of Drizzle. */
export type DrizzleSql = (strings: TemplateStringsArray, ...values: never[]) => unknown

/** Drizzle on pg or postgres.js: the `tx` of `db.transaction(async (tx) => …)`, and `sql` of `drizzle-orm`. */
export function fromDrizzle(tx: DrizzleLike, sql: DrizzleSql): Queryable {
  return queryable(async (text, values) => {
    const pieces = text.split(/\$\d+/)
    const places = [...text.matchAll(/\$(\d+)/g)].map(([, place]) => values[Number(place) - 1])
    const query = sql(Object.assign(pieces, { raw: pieces }), ...(places as never[]))
    const answer = await tx.execute(query as never)
    return 'rows' in answer ? answer.rows : answer
  })
}

/** What of Prisma's client is used. */
export interface PrismaLike {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
}

/** Prisma: the `tx` of `prisma.$transaction(async (tx) => …)`. */
export function fromPrisma(tx: PrismaLike): Queryable {
  return queryable(async (text, values) => (await tx.$queryRawUnsafe(text, ...(values as never[]))) as Rows)
}

function queryable(send: (text: string, values: readonly unknown[]) => PromiseLike<Rows>): Queryable {
  return { query: async (text, values = []) => ({ rows: [...(await send(text, values))] }) }
}
