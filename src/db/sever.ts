import type pg from 'pg'
import type { Clock } from '../model/clock.ts'

/**
 * For a server that has fallen silent: its sockets stay open, and nobody would hear of it for a quarter of an hour.
 * Whoever waits for an answer on a severed session meets connection loss instead.
 */
export function sever(client: pg.ClientBase): void {
  ;(client as pg.Client).connection.stream.destroy()
}

/** The sessions a pool has just now, whoever uses them. */
export function sessionsOf(pool: pg.Pool): ReadonlySet<pg.ClientBase> {
  const sessions = new Set<pg.ClientBase>()
  pool.on('connect', (client) => void sessions.add(client))
  pool.on('remove', (client) => void sessions.delete(client))
  return sessions
}

const idle = new WeakMap<pg.Pool, ReadonlySet<pg.ClientBase>>()

/**
 * Takes a caller's pool into use, once: nothing that befalls its sessions ends the process. Answers those that nobody
 * uses just now.
 *
 * A session loses the pool's own listener the moment it is handed out, and the words that end it may stand in the very
 * packet that made it free, before whoever waits for it has had it.
 */
export function adoptPool(pool: pg.Pool): ReadonlySet<pg.ClientBase> {
  const known = idle.get(pool)
  if (known) return known
  const sessions = new Set<pg.ClientBase>()
  idle.set(pool, sessions)
  if (pool.listenerCount('error') === 0) pool.on('error', ignore)
  pool.on('acquire', (client) => {
    sessions.delete(client)
    if (!client.listeners('error').includes(ignore)) client.on('error', ignore)
  })
  pool.on('release', (_error, client) => void sessions.add(client))
  pool.on('remove', (client) => void sessions.delete(client))
  return sessions
}

const ignore = (): void => undefined

/** How long a good-bye may take. */
const farewellMs = 2_000

/** Waits for sessions to end by themselves, and severs what is left: of a silent server, or in the hands of others. */
export async function part(clock: Clock, ended: Promise<unknown>, sessions: Iterable<pg.ClientBase>): Promise<void> {
  const enough = new AbortController()
  await Promise.race([ended.catch(() => undefined), clock.sleep(farewellMs, enough.signal)])
  enough.abort()
  for (const session of sessions) sever(session)
}
