import type { Standing } from '../model/standing.ts'
import type { Database } from './database.ts'

/** What metrics say of the whole database; undefined: another reader tells it just now. Without `reader` nobody else matters. */
export async function readMetrics(database: Database, reader: string | undefined): Promise<Standing | undefined> {
  const [row] = await database.call<{ read_metrics: string | null }>('read_metrics', [reader ?? null])
  return row?.read_metrics ? (JSON.parse(row.read_metrics) as Standing) : undefined
}
