import type pg from 'pg'

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
