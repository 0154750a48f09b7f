import pg from 'pg'
import { ConfigError } from '../model/errors.ts'
import { typeParsers } from './type-parsers.ts'

const types = typeParsers({ numbers: [], json: [] })

/** Whether something stands before the server that answers for it when a client connects, as poolers do. */
export async function isPooled(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: string }>({ text: 'select pg_backend_pid() as pid', types })
  return rows[0]?.pid !== String((client as unknown as { processID: number | null }).processID)
}

/**
 * Refuses a client whose session is lent to it for a transaction at a time: what such a session holds beyond one, locks
 * and LISTEN among it, is soon another's. A pooler that lends sessions for as long as a client is connected will do.
 */
export async function requireSession(client: pg.ClientBase, config: pg.ClientConfig): Promise<void> {
  if (!(await isPooled(client))) return
  const other = new pg.Client(config)
  other.on('error', () => undefined)
  try {
    await other.connect()
    await name(client, 'first')
    await name(other, 'second')
    // Poolers that lend by turns would give the first its own again, once.
    const names = [await nameOf(client), await nameOf(client), await nameOf(other)]
    if (names.join(' ') === 'first first second') return
  } finally {
    await other.end().catch(() => undefined)
  }
  throw new ConfigError('The connection goes through a pooler that lends sessions by the transaction.', {
    field: 'connectionString',
    remedy: 'Workers and migrations need the address of the server itself, or of a pooler in session mode.',
  })
}

async function name(client: pg.ClientBase, as: string): Promise<void> {
  await client.query(`select set_config('holdfast.session', $1, false)`, [as])
}

async function nameOf(client: pg.ClientBase): Promise<string | null> {
  const text = `select current_setting('holdfast.session', true) as name`
  const { rows } = await client.query<{ name: string | null }>({ text, types })
  return rows[0]?.name ?? null
}
