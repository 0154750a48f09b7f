import type pg from 'pg'
import { afterEach, expect, vi } from 'vitest'
import type { Address } from '../support/database.ts'
import { HandClient } from '../support/variant.ts'

/** A session that ends the others of its database, and is never ended itself. */
export class Watcher {
  readonly #client: pg.Client

  constructor(client: pg.Client) {
    this.#client = client
  }

  async query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    return (await this.#client.query<Row>(text, values)).rows
  }

  /** Ends those sessions of which the condition on `pg_stat_activity` holds, and answers their ids once they are gone. */
  async endSessions(condition = 'true'): Promise<number[]> {
    const rows = await this.query<{ pid: number }>(
      `select pid from (
         select pid, pg_terminate_backend(pid) as is_ended from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and (${condition})) ended
       where is_ended`,
    )
    const ended = rows.map(({ pid }) => pid)
    await vi.waitFor(
      async () => expect(await this.query('select from pg_stat_activity where pid = any($1)', [ended])).toEqual([]),
      { timeout: 10_000, interval: 10 },
    )
    return ended
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

const watchers: Watcher[] = []

afterEach(async () => {
  await Promise.all(watchers.splice(0).map((watcher) => watcher.close()))
})

/** A session that ends with the test. */
export async function watch({ connectionString }: Address): Promise<Watcher> {
  const client = new HandClient({ connectionString })
  const watcher = new Watcher(client)
  watchers.push(watcher)
  await client.connect()
  return watcher
}
