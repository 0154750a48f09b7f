/** graphile-worker alone, at its best batched setting: one empty job a run. It keeps no steps, whatever the work. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { count, inChunks, type TimedPeer } from './peer.ts'

const logger = new Logger(() => () => {})

/**
 * What a graphile-worker user writes who waits for a job's output: a table of his own, filled by the job, and a
 * notification that holds the output, in one statement.
 */
const ownTable = 'create table answer (i int primary key, output jsonb)'
const keepAnswer = `
  with kept as (insert into answer (i, output) values ($1, $2) returning i, output)
  select pg_notify('answered', json_build_object('i', i, 'output', output)::text) from kept`

interface Payload {
  readonly i: number
}

export const graphile: TimedPeer = {
  async openClient({ connectionString, runs }) {
    const utils = await makeWorkerUtils({ connectionString, logger })
    await utils.migrate()
    return {
      enqueue: () =>
        inChunks(runs, 500, 2, (numbers) =>
          utils.addJobs(numbers.map((number) => ({ identifier: 'bench', payload: { i: number } }))),
        ),
      close: async () => utils.release(),
    }
  },

  async openStarter({ connectionString }) {
    const utils = await makeWorkerUtils({ connectionString, logger })
    await utils.migrate()
    const ear = new pg.Client({ connectionString })
    await ear.connect()
    await ear.query(ownTable)
    await ear.query('listen answered')
    const waiting = new Map<number, (output: unknown) => void>()
    ear.on('notification', ({ payload }) => {
      const { i, output } = JSON.parse(payload ?? '') as Payload & { readonly output: unknown }
      waiting.get(i)?.(output)
      waiting.delete(i)
    })
    return {
      start: async (i) => {
        const answer = new Promise((resolve) => waiting.set(i, resolve))
        await utils.addJob('answered', { i })
        return () => answer
      },
      close: async () => {
        await ear.end()
        await utils.release()
      },
    }
  },

  async startWorker({ connectionString, slots }, { begun, finished }) {
    const runner = await run({
      logger,
      noHandleSignals: true,
      preset: {
        worker: {
          connectionString,
          concurrentJobs: slots,
          maxPoolSize: 40,
          localQueue: { size: Math.max(500, slots) },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: {
        bench: async (payload) => {
          begun((payload as Payload).i)
          finished()
        },
        answered: async (payload, { query }) => {
          const { i } = payload as Payload
          begun(i)
          await query(keepAnswer, [i, { ok: true, i }])
          finished()
        },
      },
    })
    return { stop: () => runner.stop() }
  },

  async countDone(database, { runs }) {
    return runs - (await count(database, 'select count(*) from graphile_worker._private_jobs'))
  },

  async countSteps() {
    return undefined
  },
}
