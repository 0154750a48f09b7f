import { once } from 'node:events'
import { Pool } from 'pg'
import colors from 'picocolors'
import { createClient, migrate, type Client } from '../../src/index.ts'
import { openDatabase } from './database.ts'
import type { Check } from './print.ts'
import type { WorkerProcess } from './worker-process.ts'

/** What an example works with. */
export interface Stage {
  readonly connectionString: string
  readonly pool: Pool
  readonly client: Client
  /** Undone in reverse, however the example ends. */
  readonly cleanups: (() => unknown)[]
  /** Makes a worker part of the example: it is waited for, and complained about if it ends unasked. */
  addWorker(worker: WorkerProcess): WorkerProcess
  readonly giveUp: (reason: unknown) => void
}

const patienceMs = 45_000
const interrupted = Symbol('interrupted')

/**
 * Runs an example on a database of its own and ends the process: with 0 if all it was to show held, else with 1. It is
 * given up after 45 s, on Ctrl-C, and when one of its workers ends unasked.
 */
export async function runExample(name: string, show: (stage: Stage) => Promise<readonly Check[]>): Promise<never> {
  const cleanups: (() => unknown)[] = []
  const workers: WorkerProcess[] = []
  const givenUp = new AbortController()
  const giveUp = (reason: unknown): void => givenUp.abort(reason)

  async function play(): Promise<readonly Check[]> {
    const opening = openDatabase(name)
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
    return await show({
      connectionString,
      pool,
      client,
      cleanups,
      giveUp,
      addWorker: (worker) => {
        workers.push(worker)
        cleanups.push(() => worker.stop())
        worker.endedUnasked().catch(giveUp)
        return worker
      },
    })
  }

  async function untilGivenUp(): Promise<never> {
    await once(givenUp.signal, 'abort')
    throw givenUp.signal.reason
  }

  process.once('SIGINT', () => giveUp(interrupted))
  process.once('SIGTERM', () => giveUp(interrupted))
  const patience = setTimeout(
    () => giveUp(new Error(`Not all runs had ended after ${patienceMs / 1000} s.`)),
    patienceMs,
  )

  try {
    const checks = await Promise.race([play(), untilGivenUp()])
    if (!checks.every((check) => check.holds)) throw new Error('The example did not show what it should: see ✗ above.')
    process.exitCode = 0
  } catch (error) {
    process.exitCode = 1
    if (error === interrupted) console.error('\nInterrupted.')
    else complain(error, workers)
  } finally {
    clearTimeout(patience)
    for (const cleanUp of cleanups.toReversed()) await cleanUp()
  }
  process.exit()
}

function complain(error: unknown, workers: readonly WorkerProcess[]): void {
  console.error(`\n${colors.red(error instanceof Error ? error.message : String(error))}`)
  for (const { name, lastWords } of workers) if (lastWords) console.error(`\nWorker ${name} said last:\n${lastWords}`)
}
