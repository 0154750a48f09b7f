/**
 * A shop takes some 200 orders through validate, reserve stock, charge and confirm. Two worker processes share the work,
 * and one is killed while it charges. README.md tells how to read what this prints.
 */
import { RunFailedError, type Client } from '../../src/index.ts'
import { runExample } from '../support/run-example.ts'
import { WorkerProcess } from '../support/worker-process.ts'
import { crashWhileCharging } from './crash.ts'
import { importOrders } from './import-orders.ts'
import { startPaymentServer } from './payment-server.ts'
import { printReport } from './print-report.ts'
import { Progress } from './progress.ts'
import { readReport } from './report.ts'
import { openShop } from './shop.ts'
import { judge } from './verdict.ts'

const ordersFile = new URL('orders.csv', import.meta.url)
const workerFile = new URL('worker.ts', import.meta.url)
const endedBeforeTheKill = 60

await runExample('orders', async ({ connectionString, pool, client, cleanups, addWorker, giveUp }) => {
  await openShop(pool)
  const payments = await startPaymentServer()
  cleanups.push(() => payments.close())
  const environment = { DATABASE_URL: connectionString, PAYMENTS_URL: payments.url }
  const workers = ['one', 'two'].map((name) => addWorker(new WorkerProcess(name, workerFile, environment)))

  const runs = await importOrders(ordersFile, pool, client)
  await Promise.all(workers.map((worker) => worker.ready()))
  console.log(`Workers one and two are at it. One will be killed once ${endedBeforeTheKill} orders have ended.\n`)

  const progress = new Progress(runs.length, payments, workers)
  cleanups.push(() => progress.end())
  const isTime = (): boolean => progress.endedCount >= endedBeforeTheKill
  crashWhileCharging(workers, payments, pool, isTime).then((crash) => progress.tellOfCrash(crash), giveUp)
  await Promise.all(runs.map(async (run) => progress.count(await endOf(client, run))))
  progress.end()
  await Promise.all(workers.map((worker) => worker.stop()))

  const report = await readReport(pool, payments.ledger)
  const checks = judge(report)
  printReport(report, checks)
  return checks
})

async function endOf(client: Client, run: string): Promise<'done' | 'failed'> {
  try {
    await client.result(run)
    return 'done'
  } catch (error) {
    if (error instanceof RunFailedError) return 'failed'
    throw error
  }
}
