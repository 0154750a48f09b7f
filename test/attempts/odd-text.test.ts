import { expect, test } from 'vitest'
import { z } from 'zod'
import { ArgumentError, ConfigError, defineWorkflow, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { countRuns, loseWorker, quickTimings, reached, recordOf } from './record.ts'
import { recordUnhandled } from './unhandled.ts'

const database = useDatabase()
const unhandled = recordUnhandled()

/** What a text column cannot hold. */
const odd: readonly (readonly [string, string])[] = [
  ['NUL', '\0'],
  ['half a surrogate pair', '\uD800'],
  ['its other half', '\uDC00'],
]

test.each(odd)(
  'STEP-03: values that hold %s stay as they are, from the input to the output and at every replay',
  async (name, sign) => {
    const value = { [`key ${sign}`]: [`text ${sign}`, new Map([[sign, sign]])] }
    const begun = signal()
    let claims = 0
    const echo = defineWorkflow({
      name: `echo ${name}`,
      lease: '1.5s',
      input: z.unknown(),
      handler: async (input, run) => {
        const answer = await run.step('echo', () => input, { args: value })
        const plain = await run.step('plain', () => ({ [sign]: `text ${sign}` }))
        run.progress(answer)
        if (++claims === 1) {
          begun.give()
          await new Promise(() => undefined)
        }
        return { input, answer, plain }
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [echo], timings: quickTimings })
    const run = await client.start(echo, value)
    await begun.promise
    // What a handler says of its progress is kept beside its work: it may be on its way.
    for await (const { progress } of client.watch(run)) if (progress !== undefined) break
    await loseWorker(database, run)
    expect(await client.result(run)).toEqual({
      input: value,
      answer: value,
      plain: { [sign]: `text ${sign}` },
    })
    expect(await client.get(run)).toMatchObject({ input: value, progress: value })
    expect(claims).toBe(2)
  },
)

test.each(odd)('TRY-08: reasons that hold %s are kept readable', async (name, sign) => {
  const reason = `a${sign}b`
  const steers: Readonly<Record<string, (run: Run) => unknown>> = {
    fail: (run) => run.fail(reason, { cause: reason }),
    retry: (run) => run.retry('1h', reason),
    snooze: (run) => run.snooze('1h', reason),
  }
  const workflows = Object.entries(steers).map(([kind, steer]) =>
    defineWorkflow({ name: `${kind} ${name}`, handler: (_, run) => steer(run) }),
  )
  const client = openClient(database)
  await startWorker(database, { workflows, timings: quickTimings })
  const states = ['failed', 'scheduled', 'scheduled'] as const
  for (const [index, workflow] of workflows.entries()) {
    const run = await client.start(workflow)
    const state = states[index]
    expect((await reached(database, run, state ? { state } : {})).reason).toBe('a\uFFFDb')
    if (state === 'failed') continue
    expect(await client.cancel(run, { reason })).toMatchObject({ state: 'cancelled', reason: 'a\uFFFDb' })
  }
  expect(unhandled).toEqual([])
})

test.each(odd)(
  'RUN-17: names that hold %s are refused with a typed error before any row is written',
  async (name, sign) => {
    const label = `a${sign}b`
    expect(() => defineWorkflow({ name: label, handler: () => 1 })).toThrow(ConfigError)

    const plain = defineWorkflow({ name: `plain ${name}`, handler: () => 1 })
    const grouped = defineWorkflow({
      name: `grouped ${name}`,
      concurrency: { perGroup: 1 },
      group: () => label,
      handler: () => 1,
    })
    const client = openClient(database)
    const refusals = await Promise.all(
      [
        client.start(plain, undefined, { key: label }),
        client.start(plain, undefined, { metadata: { [label]: 'value' } }),
        client.start(plain, undefined, { metadata: { label } }),
        client.start(grouped),
      ].map((start) => start.catch((error: unknown) => error)),
    )
    expect(refusals.map((error) => error instanceof ArgumentError && error.field)).toEqual([
      'key',
      expect.stringMatching(/^metadata/),
      expect.stringMatching(/^metadata/),
      'group',
    ])
    expect(await countRuns(database, plain)).toBe(0)
    expect(await countRuns(database, grouped)).toBe(0)
  },
)

test.each(odd)('no run is found under a key or a workflow that holds %s', async (name, sign) => {
  const keyed = defineWorkflow({ name: `keyed ${name}`, handler: () => 1 })
  const client = openClient(database)
  // A driver would make this of the text.
  await client.start(keyed, undefined, { key: 'a\uFFFDb' })
  const text = `a${sign}b`
  await expect(client.get({ workflow: keyed, key: text })).rejects.toMatchObject({ code: 'ARGUMENT', field: 'run.key' })
  await expect(client.get({ workflow: text, key: 'a' })).rejects.toMatchObject({
    code: 'ARGUMENT',
    field: 'run.workflow',
  })
  await expect(client.list({ workflow: text })).rejects.toMatchObject({ code: 'ARGUMENT', field: 'workflow' })
})

test.each(odd)('OPS-07: a step name that holds %s is the error of its handler alone', async (name, sign) => {
  const refused: unknown[] = []
  const naming = defineWorkflow({
    name: `naming ${name}`,
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step(`a${sign}b`, () => 1).catch((error: unknown) => refused.push(error))
      await run.transaction(`a${sign}b`, () => Promise.resolve(1))
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [naming], timings: quickTimings })
  const run = await client.start(naming)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'attempts_exhausted' })
  expect(refused).toMatchObject([{ code: 'ARGUMENT', field: 'name' }])
  expect((await recordOf(database, run)).error).toMatchObject({ code: 'ARGUMENT' })
  expect(unhandled).toEqual([])
})
