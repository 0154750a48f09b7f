import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import winston from 'winston'
import { createWorker, defineWorkflow, type Logger, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { openClient } from '../support/worker.ts'
import { useRecording } from './recording.ts'

const database = useDatabase()
const recording = useRecording()

type Line = Readonly<Record<string, unknown>>

/** A stream that keeps what is written to it, a line each. */
function keeping(lines: Line[]): Writable {
  return new Writable({
    write: (chunk: Buffer | string, _, done) => {
      for (const line of chunk.toString().split('\n')) if (line !== '') lines.push(JSON.parse(line) as Line)
      done()
    },
  })
}

const loggers: readonly { readonly name: string; readonly make: (lines: Line[]) => Logger }[] = [
  { name: 'pino', make: (lines) => pino({ level: 'debug' }, keeping(lines)) },
  { name: 'a child of pino', make: (lines) => pino(keeping(lines)).child({ app: 'shop' }) },
  {
    name: 'winston',
    make: (lines) => {
      const transport = new winston.transports.Stream({ stream: keeping(lines) })
      const logger = winston.createLogger({ format: winston.format.json(), transports: [transport] })
      const write = (level: keyof Logger) => (fields: object, message: string) => void logger[level](message, fields)
      return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
    },
  },
  {
    name: 'a class of the own',
    make: (lines) =>
      new (class implements Logger {
        readonly #lines = lines
        debug = (): void => undefined
        info(fields: Line, msg: string): void {
          this.#lines.push({ ...fields, msg })
        }
        warn(fields: Line, msg: string): void {
          this.#lines.push({ ...fields, msg })
        }
        error(fields: Line, msg: string): void {
          this.#lines.push({ ...fields, msg })
        }
      })(),
  },
]

test.each(loggers)(
  'TRACE-06: every line of a claim, by $name, bears its run, attempt, token and trace',
  async ({ name, make }) => {
    const lines: Line[] = []
    const client = openClient(database)
    const talks = defineWorkflow({
      name: `talks to ${name}`,
      retry: { initial: '1ms' },
      handler: async (_, run: Run) => {
        run.log.info({ mine: 1 }, 'said by the handler')
        await run.step('one', () => run.log.warn({ mine: 2 }, 'said by the step'))
        // Not awaited: the claim ends beside it, and says so.
        if (run.attempt === 1) {
          void run.step('left', () => Promise.resolve(1))
          throw new Error('Again.')
        }
      },
    })
    const worker = createWorker({ ...optionsFor(database), migrate: 'off', workflows: [talks], logger: make(lines) })
    await worker.start()
    const run = await client.start(talks)
    await client.result(run)
    await expect.poll(() => recording.named(`run ${talks.name}`).length).toBe(2)
    await worker.stop()

    const claims = new Map(
      recording
        .named(`run ${talks.name}`)
        .map((span) => [span.attributes['holdfast.attempt.number'], span.spanContext()]),
    )
    const own = lines.filter((line) => line['runId'] === run.id)
    expect(own.map((line) => line['msg'] ?? line['message'])).toEqual([
      'said by the handler',
      'said by the step',
      'said by the handler',
    ])
    for (const line of own) {
      const { traceId, spanId } = claims.get(line['attempt'] as number) ?? {}
      const token = line['attempt'] === 1 ? 1 : 3
      expect(line).toMatchObject({
        workflow: talks.name,
        token,
        traceId,
        spanId,
        workerId: expect.any(String) as string,
      })
    }
    // Lines of the worker itself are about no run.
    expect(lines.filter((line) => !('runId' in line)).length).toBeGreaterThan(0)
  },
)

test('TRACE-06: without an SDK a line has no trace, and says nothing of one', async () => {
  const lines: Line[] = []
  const client = openClient(database)
  const talks = defineWorkflow({ name: 'untraced talk', handler: (_, run) => run.log.info({}, 'said') })
  const tracerProvider = { getTracer: () => ({ startSpan: () => undefined }) }
  const logger = pino(keeping(lines))
  const worker = createWorker({ ...optionsFor(database), migrate: 'off', workflows: [talks], logger, tracerProvider })
  await worker.start()
  await client.result(await client.start(talks))
  await worker.stop()
  const said = lines.find((line) => line['msg'] === 'said')
  expect(said).toMatchObject({ workflow: 'untraced talk', attempt: 1, token: 1 })
  expect(said).not.toHaveProperty('traceId')
})
