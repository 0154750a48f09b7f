import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import colors from 'picocolors'
import type { Client } from '../../src/index.ts'
import { readOrders } from './order.ts'
import { recordOrder } from './record-order.ts'

/** Records each order of the file and starts its run; says what it leaves out and why. Answers the runs' ids. */
export async function importOrders(file: URL, pool: Pool, client: Client): Promise<string[]> {
  const runs: string[] = []
  for (const entry of readOrders(await readFile(file, 'utf8'))) {
    if ('problem' in entry) {
      console.log(colors.yellow(`orders.csv, line ${entry.line}: ${entry.problem}. Left out.`))
      continue
    }
    const run = await recordOrder(pool, client, entry.order)
    if (run) runs.push(run)
    else
      console.log(
        colors.yellow(`orders.csv, line ${entry.line}: ${entry.order.id} again. Its key is taken: no second run.`),
      )
  }
  console.log(`${runs.length} orders recorded, each with its run started in the same transaction.`)
  return runs
}
