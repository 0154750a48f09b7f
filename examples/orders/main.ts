/**
 * A shop takes some 200 orders through validate, reserve stock, charge and confirm. Two worker processes share the work,
 * and one is killed while it charges. README.md tells how to read what this prints.
 */
import { once } from 'node:events'
import { Pool } from 'pg'
import colors from 'picocolors'
import { createClient, migrate, RunFailedError, type Client } from '../../src/index.ts'
import { crashWhileCharging } from './crash.ts'
import { openDatabase } from './database.ts'
import { importOrders } from './import-orders.ts'
import { startPaymentServer } from './payment-server.ts'
import { printReport } from './print-report.ts'
import { Progress } from './progress.ts'
import { readReport } from './report.ts'
import { openShop } from './shop.ts'
import { judge } from './verdict.ts'
import { WorkerProcess } from './worker-process.ts'

const ordersFile = new URL('orders.csv', import.meta.url)
const endedBeforeTheKill = 60
const patienceMs = 45_000

/** Undone in reverse, however the example ends. */
const cleanups: (() => unknown)[] = []
const workers: WorkerProcess[] = []
const givenUp = new AbortController()
const interrupted = Symbol('interrupted')
const giveUp = (reason: unknown): void => givenUp.abort(reason)

async function runExample(): Promise<boolean> {
  const opening = openDatabase()
  cleanups.push(() =>
    opening.then(
      (database) => database.close(),
      () => {},
    ),
  )
  const { connectionString, description } = await opening
  console.log(`Database: ${description}\n`)
  await migrate({ connectionString })
  const pool = new Pool({ connectionString })
  // An idle connection that is lost is replaced at the next query, and those in use reject that.
  pool.on('error', () => {})
  const client = createClient({ pool })
  cleanups.push(
    () => pool.end(),
    () => client.close(),
  )
  await openShop(pool)

  const payments = await startPaymentServer()
  cleanups.push(() => payments.close())
  for (const name of ['one', 'two']) {
    const worker = new WorkerProcess(name, { DATABASE_URL: connectionString, PAYMENTS_URL: payments.url })
    workers.push(worker)
    cleanups.push(() => worker.stop())
    worker.endedUnasked().catch(giveUp)
  }

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
  return checks.every((check) => check.holds)
}

async function endOf(client: Client, run: string): Promise<'done' | 'failed'> {
  try {
    await client.result(run)
    return 'done'
  } catch (error) {
    if (error instanceof RunFailedError) return 'failed'
    throw error
  }
}

async function untilGivenUp(): Promise<never> {
  await once(givenUp.signal, 'abort')
  throw givenUp.signal.reason
}

function complain(error: unknown): void {
  console.error(`\n${colors.red(error instanceof Error ? error.message : String(error))}`)
  for (const { name, lastWords } of workers) if (lastWords) console.error(`\nWorker ${name} said last:\n${lastWords}`)
}

process.once('SIGINT', () => giveUp(interrupted))
process.once('SIGTERM', () => giveUp(interrupted))
const patience = setTimeout(
  () => giveUp(new Error(`Not all orders had ended after ${patienceMs / 1000} s.`)),
  patienceMs,
)

try {
  const hasShownAll = await Promise.race([runExample(), untilGivenUp()])
  if (!hasShownAll) throw new Error('The example did not show what it should: see ✗ above.')
  process.exitCode = 0
} catch (error) {
  process.exitCode = 1
  if (error === interrupted) console.error('\nInterrupted.')
  else complain(error)
} finally {
  clearTimeout(patience)
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
}
process.exit()
