import { defineWorkflow, type Run } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

/** What the worker processes of these tests run. */

/** Three steps, and the attempt it ended in. */
export const works = defineWorkflow({
  name: 'works',
  handler: async (_, run) => {
    tell('entered', run)
    for (const name of ['first', 'second', 'third']) await run.step(name, () => name)
    return run.attempt
  },
})

/** Five steps, after each of which it waits to be killed if this is the attempt of that number. */
export const diesOften = defineWorkflow({
  name: 'dies often',
  handler: async (_, run) => {
    for (let step = 1; step <= 5; step += 1) {
      await run.step('step', () => tell('body', run, step))
      if (step !== run.attempt) continue
      tell('kept', run, step)
      await ordered('never given')
    }
    return run.attempt
  },
})

/** Is in a step that never ends, and tells when it is told to stop. */
export const neverEnds = defineWorkflow({
  name: 'never ends',
  handler: async (_, run) => {
    run.abortSignal.addEventListener('abort', () => tell('aborted', run))
    tell('entered', run)
    await run.step('endless', () => new Promise<void>(() => undefined))
  },
})

async function stay(_: undefined, run: Run): Promise<number> {
  tell('entered', run)
  await ordered('go')
  return run.attempt
}

/** Stays in until ordered to go. */
export const stays = defineWorkflow({ name: 'stays', handler: stay })

/** The same, under a lease of 1.5 s. */
export const staysBriefly = defineWorkflow({ name: 'stays briefly', lease: '1.5s', handler: stay })
