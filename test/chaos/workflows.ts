import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { logBody } from '../support/body-log.ts'
import { tell } from '../support/tell.ts'

/** What the runs of a chaos suite do. Each body answers something that no other body ever does. */

export interface Answer {
  readonly nonce: string
  readonly at: number
}

export interface VoyageOutput {
  readonly index: number
  readonly answers: Readonly<Record<string, Answer>>
}

export const stepKeys = ['a', 'b', 'c', 'effect', 'd'] as const

/** For how long after a step a run turns back there, once. */
const turnMs = 250
export const turnReason = 'a turn'
let bodies = 0

const voyageInput = z.object({
  index: z.number(),
  /** How long each body takes. */
  delays: z.array(z.number()),
  /** What it does on the way, beside going on. */
  turn: z.enum(['none', 'snooze', 'retry', 'throw']),
})

export type VoyageInput = z.infer<typeof voyageInput>

export const voyage = defineWorkflow({
  name: 'voyage',
  input: voyageInput,
  lease: '1500ms',
  maxAttempts: 100,
  retry: { initial: '100ms', max: '1s' },
  handler: async ({ index, delays, turn }, run) => {
    const step = (place: number): Promise<Answer> => takeStep(run, stepKeys[place] as string, delays[place] ?? 0)

    const a = await step(0)
    if (turn === 'snooze' && isNear(a)) return run.snooze(turnMs, turnReason)
    const [b, c] = await Promise.all([step(1), step(2)])
    if (turn === 'retry' && isNear(c)) return run.retry(turnMs, turnReason)
    if (turn === 'throw' && isNear(b)) throw new Error(turnReason)
    const effect = await takeEffect(run, delays[3] ?? 0)
    const d = await step(4)
    tell('ending', run)
    return { index, answers: { a, b, c, effect, d } } satisfies VoyageOutput
  },
})

async function takeStep(run: Run, key: string, delayMs: number): Promise<Answer> {
  const answer = await run.step(key, () => live(run, key, delayMs))
  logBody({ did: 'got', run: run.id, key, value: answer })
  run.progress({ past: key })
  return answer
}

async function takeEffect(run: Run, delayMs: number): Promise<Answer> {
  const answer = await run.transaction('effect', async (tx) => {
    const made = await live(run, 'effect', delayMs)
    await tx.query('insert into history.effects (run_id, nonce) values ($1, $2)', [run.id, made.nonce])
    return made
  })
  logBody({ did: 'got', run: run.id, key: 'effect', value: answer })
  return answer
}

async function live(run: Run, key: string, delayMs: number): Promise<Answer> {
  logBody({ did: 'begin', run: run.id, key })
  await systemClock.sleep(delayMs)
  const answer = { nonce: `${process.pid}.${(bodies += 1)}`, at: systemClock.wallClock() }
  logBody({ did: 'end', run: run.id, key, value: answer })
  return answer
}

function isNear({ at }: Answer): boolean {
  return systemClock.wallClock() < at + turnMs
}
