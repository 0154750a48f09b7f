import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { createDatabase } from '../support/database.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'

test.for([
  ['40P01', 1],
  ['40P01', 16],
  ['40001', 16],
] as const)(
  'OPS-03: a completion of the queue that meets %s, at concurrency %i, ends nothing: the next runs are done',
  async ([code, concurrency]) => {
    const database = await createDatabase()
    try {
      // A sequence does not roll back: it counts the completion that was undone.
      await database.query(`
        create sequence public.completions;
        create function public.refuse_once() returns trigger language plpgsql as $$
        begin
          if nextval('public.completions') = 3 then raise exception 'refused once' using errcode = '${code}'; end if;
          return old;
        end $$;
        create trigger refuse_once before delete on holdfast_queue._private_jobs
          for each row execute function public.refuse_once()`)
      const bodies = new Map<string, number>()
      const workflow = defineWorkflow({
        name: 'quick',
        handler: (_, run) => void bodies.set(run.id, (bodies.get(run.id) ?? 0) + 1),
      })
      const logger = recordingLogger()
      const worker = await startWorker(database, { workflows: [workflow], concurrency, logger })
      const client = openClient(database)
      for (let round = 0; round < 3; round += 1) {
        const runs = await Promise.all(Array.from({ length: 20 }, () => client.start(workflow)))
        await Promise.all(runs.map((run) => client.result(run)))
      }
      const counted = await database.query<{ refusals: string }>(
        'select last_value as refusals from public.completions',
      )
      expect(Number(counted.rows[0]?.refusals)).toBeGreaterThan(3)
      expect(logger.lines.filter(({ message }) => message.includes('The queue ended by itself'))).toEqual([])
      await worker.stop()
      await client.close()
      expect([bodies.size, ...new Set(bodies.values())]).toEqual([60, 1])
      const { rows } = await database.query(
        'select (select count(*)::int from holdfast_queue._private_jobs) as tickets, count(*)::int as claims from holdfast.claims',
      )
      expect(rows).toEqual([{ tickets: 0, claims: 0 }])
    } finally {
      await database.drop()
    }
  },
)
