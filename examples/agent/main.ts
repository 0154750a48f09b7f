/**
 * Agents of three tenants share one language model: one tenant asks many questions at once, the others five each. Limits
 * of the workflow say how many of whose may be at the model. Two worker processes share the work, and one is killed.
 * README.md tells how to read what this prints.
 */
import { runExample } from '../support/run-example.ts'
import { WorkerProcess } from '../support/worker-process.ts'
import { answerQuestion } from './answer-question.ts'
import { crashWhileAnswering } from './crash.ts'
import { startModelServer } from './model-server.ts'
import { printReport } from './print-report.ts'
import { Progress } from './progress.ts'
import { questionsOf, tenants } from './questions.ts'
import { readReport } from './report.ts'
import { judge } from './verdict.ts'

const workerFile = new URL('worker.ts', import.meta.url)
const endedBeforeTheKill = 12

await runExample('agent', async ({ connectionString, pool, client, cleanups, addWorker, giveUp }) => {
  await pool.query(
    'create schema agent; create table agent.kills (killed_at timestamptz not null, run_id uuid not null)',
  )
  const model = await startModelServer()
  cleanups.push(() => model.close())

  const runs: { id: string; tenant: string }[] = []
  for (const tenant of tenants) {
    const started = await client.startMany(
      answerQuestion,
      questionsOf(tenant).map((input) => ({ input })),
    )
    runs.push(...started.map(({ id }) => ({ id, tenant: tenant.name })))
    console.log(`${started.length} questions of ${tenant.name} are in line.`)
  }

  const environment = { DATABASE_URL: connectionString, MODEL_URL: model.url }
  const workers = ['one', 'two'].map((name) => addWorker(new WorkerProcess(name, workerFile, environment)))
  const progress = new Progress(model, workers)
  cleanups.push(() => progress.end())
  await Promise.all(workers.map((worker) => worker.ready()))
  console.log(`Workers one and two are at it. One will be killed once ${endedBeforeTheKill} questions are answered.\n`)

  const isTime = (): boolean => progress.endedCount >= endedBeforeTheKill
  crashWhileAnswering(workers, model, pool, isTime).then((crash) => progress.tellOfCrash(crash), giveUp)
  await Promise.all(
    runs.map(async ({ id, tenant }) => {
      await client.result(id)
      progress.count(tenant)
    }),
  )
  progress.end()
  await Promise.all(workers.map((worker) => worker.stop()))

  const report = await readReport(pool, model)
  const checks = judge(report)
  printReport(report, checks)
  return checks
})
