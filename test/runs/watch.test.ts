import { expect, test } from 'vitest'
import { defineWorkflow, RunFailedError, type RunView } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { HandClient, isPointless, names } from '../support/variant.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { quoteIdentifier } from '../../src/db/schema-names.ts'

const database = useDatabase()

/** Each view's state, and its progress if it has one. */
async function seen(views: AsyncIterable<RunView>, onView?: (view: RunView) => unknown): Promise<string[]> {
  const texts: string[] = []
  for await (const view of views) {
    texts.push(typeof view.progress === 'string' ? `${view.state} ${view.progress}` : view.state)
    await onView?.(view)
  }
  return texts
}

test('RUN-11: watch gives the run as it is, then after each change, and ends when it is done', async () => {
  const [go, isSeen] = [signal(), signal()]
  const workflow = defineWorkflow({
    name: 'watched',
    handler: async (_, run) => {
      if (run.attempt === 1) return run.retry('1ms')
      await go.promise
      run.progress('half')
      // What is said right before the end may come too late.
      await isSeen.promise
      return 'over'
    },
  })
  const client = openClient(database)
  const run = await client.start(workflow)
  const all: RunView[] = []
  const states = seen(client.watch(run), (view) => {
    all.push(view)
    if (view.state === 'running' && view.attempt === 2) go.give()
    if (view.progress === 'half') isSeen.give()
  })
  await startWorker(database, { workflows: [workflow] })

  const texts = await states
  expect(texts[0]).toBe('waiting')
  expect(texts).toContain('running')
  expect(texts.at(-1)).toBe('done half')
  // Nothing is told twice in a row.
  const told = all.map(({ state, attempt, progress }) => JSON.stringify([state, attempt, progress]))
  expect(told.filter((text, index) => text === told[index - 1])).toEqual([])
})

test('RUN-11: watch ends at once for a run that has ended, and for one that fails or is cancelled', async () => {
  const fails = defineWorkflow({ name: 'watched to fail', handler: (_, run) => run.fail('no') })
  const client = openClient(database)
  const [failed, cancelled] = [await client.start(fails), await client.start(fails, undefined, { delay: '1h' })]
  const states = Promise.all([seen(client.watch(failed)), seen(client.watch(cancelled))])
  await startWorker(database, { workflows: [fails] })
  await client.cancel(cancelled)
  expect((await states).map((each) => each.at(-1))).toEqual(['failed', 'cancelled'])
  expect(await seen(client.watch(failed))).toEqual(['failed'])
})

test('RUN-11: a watcher whose sessions are cut sees the end all the same, and so do fifty', async () => {
  const go = signal()
  const workflow = defineWorkflow({ name: 'watched over cuts', handler: () => go.promise })
  const proxy = await startProxy(database)
  const far = openClient(proxy)
  const client = openClient(database)
  const runs = await Promise.all(Array.from({ length: 50 }, () => client.start(workflow)))
  const results = runs.map((run) => far.result(run))
  const states = seen(far.watch(runs[0]!))
  await startWorker(database, { workflows: [workflow], concurrency: 64 })
  await expect.poll(async () => (await client.list({ state: 'running' })).items.length).toBe(50)
  for (let time = 0; time < 5; time += 1) {
    proxy.cutNow()
    await far.get(runs[0]!)
  }
  go.give()
  await Promise.all(results)
  expect((await states).at(-1)).toBe('done')
})

/** A run whose handler waits, and a result that has been waited for long enough to be told of. */
async function waitedFor(name: string) {
  const [entered, go] = [signal(), signal()]
  const workflow = defineWorkflow({
    name,
    handler: async () => {
      entered.give()
      await go.promise
      return 'at last'
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  const result = client.result(run)
  await entered.promise
  return { run, result, go }
}

test.skipIf(isPointless('no-notify', 'there is no word to hear'))(
  'RUN-12: whoever has waited for long is told of the end by name',
  async () => {
    const { run, result, go } = await waitedFor('told of')
    const watcher = async (): Promise<string | undefined> =>
      (await database.query<{ watcher: string }>('select watcher from holdfast.watches where run_id = $1', [run.id]))
        .rows[0]?.watcher
    await expect.poll(watcher).toBeDefined()
    const ear = new HandClient({ connectionString: database.connectionString })
    await ear.connect()
    const heard = new Promise<string | undefined>(
      (resolve) => void ear.on('notification', (each) => resolve(each.payload)),
    )
    await ear.query(`listen ${quoteIdentifier(`${names.channel}:${await watcher()}`)}`)
    go.give()
    expect(await result).toBe('at last')
    expect(await heard).toBe(run.id)
    await ear.end()
  },
)

test('RUN-11: whoever is told nothing asks, and sees the end', async () => {
  await database.query(
    `create table public.forgotten (run_id uuid);
     create function public.forget() returns trigger language plpgsql as $$
     begin
       insert into public.forgotten values (new.run_id);
       return null;
     end $$;
     create trigger forget before insert on holdfast.watches for each row execute function public.forget()`,
  )
  const { result, go } = await waitedFor('told nothing')
  await expect.poll(async () => (await database.query('select from public.forgotten')).rowCount).toBeGreaterThan(0)
  go.give()
  expect(await result).toBe('at last')
  await database.query('drop trigger forget on holdfast.watches')
})

test('RUN-12: a watch ends with its signal, its loop, or its client', async () => {
  const workflow = defineWorkflow({ name: 'never run', handler: () => undefined })
  const client = openClient(database)
  const run = await client.start(workflow)
  const controller = new AbortController()
  const aborted = seen(client.watch(run, { abortSignal: controller.signal }), () =>
    controller.abort(new Error('enough')),
  )
  await expect(aborted).rejects.toThrow('enough')
  for await (const view of client.watch(run)) {
    expect(view.state).toBe('waiting')
    break
  }
  const closed = seen(client.watch(run))
  const result = client.result(run)
  await Promise.all([
    expect(closed).rejects.toMatchObject({ code: 'CLOSED' }),
    expect(result).rejects.toMatchObject({ code: 'CLOSED' }),
    client.close(),
  ])
})

test("RUN-12: result throws the run's failure with its last error as the cause", async () => {
  const workflow = defineWorkflow({
    name: 'throws for result',
    maxAttempts: 1,
    handler: () => {
      throw new TypeError('broken')
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  const error: unknown = await client.result(run).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RunFailedError)
  expect(error).toMatchObject({ failure: 'attempts_exhausted', cause: { name: 'TypeError', message: 'broken' } })
})
