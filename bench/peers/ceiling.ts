/**
 * What one Node process can do with the fewest writes a durable run needs: the run's row with its job, one row a step,
 * done. graphile-worker is the queue; the writes of all runs in flight share statements and commits. No leases, fences,
 * retries or results, so it is a ceiling and not a product.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { Batcher } from './batcher.ts'
import { count, inChunks, stepBody, type Peer } from './peer.ts'

const logger = new Logger(() => () => {})

const schema = `
  create table run (
    id bigint primary key generated always as identity,
    status smallint not null default 0,
    input jsonb,
    output jsonb,
    started_at timestamptz,
    done_at timestamptz
  ) with (fillfactor = 70);
  create table step (
    run_id bigint not null,
    seq int not null,
    output jsonb,
    at timestamptz not null default now(),
    primary key (run_id, seq)
  )`

const insertRuns = `
  with runs as (
    insert into run (input) select input from unnest($1::jsonb[]) as input returning id, input
  ), specs as (
    select array_agg(row(
      'run', json_build_object('id', id, 'i', input -> 'i'), null, null, null, null, null, null
    )::graphile_worker.job_spec) as jobs
    from runs
  )
  select count(*) from graphile_worker.add_jobs((select jobs from specs), false)`

const insertSteps = `
  insert into step (run_id, seq, output)
  select * from unnest($1::bigint[], $2::int[], $3::jsonb[])`

const updateRuns = `
  update run set status = 2, output = ended.output, done_at = now()
  from unnest($1::bigint[], $2::jsonb[]) as ended (id, output)
  where run.id = ended.id and run.status <> 2`

interface KeptStep {
  readonly run: number
  readonly seq: number
  readonly output: string
}

interface EndedRun {
  readonly run: number
  readonly output: string
}

interface Payload {
  readonly id: number
  readonly i: number
}

function openPool(connectionString: string, max: number): pg.Pool {
  return new pg.Pool({ connectionString, max })
}

export const ceiling: Peer = {
  async openClient({ connectionString, runs }) {
    const utils = await makeWorkerUtils({ connectionString, logger })
    await utils.migrate()
    await utils.release()
    const pool = openPool(connectionString, 8)
    await pool.query(schema)
    return {
      enqueue: () =>
        inChunks(runs, 500, 4, (numbers) =>
          pool.query({
            name: 'insert_runs',
            text: insertRuns,
            values: [numbers.map((number) => JSON.stringify({ i: number }))],
          }),
        ),
      close: () => pool.end(),
    }
  },

  async startWorker({ connectionString, slots, steps }, { begun, finished }) {
    const pool = openPool(connectionString, 16)
    const keep = new Batcher<KeptStep>((kept) =>
      pool.query({
        name: 'insert_steps',
        text: insertSteps,
        values: [kept.map((step) => step.run), kept.map((step) => step.seq), kept.map((step) => step.output)],
      }),
    )
    const end = new Batcher<EndedRun>((ended) =>
      pool.query({
        name: 'update_runs',
        text: updateRuns,
        values: [ended.map((one) => one.run), ended.map((one) => one.output)],
      }),
    )
    const runner = await run({
      logger,
      noHandleSignals: true,
      preset: {
        worker: {
          connectionString,
          concurrentJobs: slots,
          maxPoolSize: 12,
          localQueue: { size: Math.max(500, slots) },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: {
        run: async (payload) => {
          const { id, i } = payload as Payload
          begun(i)
          for (let seq = 0; seq < steps; seq++) {
            await keep.add({ run: id, seq, output: JSON.stringify(await stepBody(i, seq)) })
          }
          await end.add({ run: id, output: JSON.stringify({ ok: true, i }) })
          finished()
        },
      },
    })
    return {
      async stop() {
        await runner.stop()
        await pool.end()
      },
    }
  },

  async countDone(database) {
    return count(
      database,
      `select (select count(*) from run where status = 2) - (select count(*) from graphile_worker._private_jobs) as count`,
    )
  },

  async countSteps(database) {
    return count(database, 'select count(*) from step')
  },
}
