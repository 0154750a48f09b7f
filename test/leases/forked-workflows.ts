import { defineWorkflow, type Run } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

/** What worker processes run, and their tests start. */

async function stay(_: undefined, run: Run): Promise<number> {
  tell('entered', run)
  await ordered('go')
  try {
    return await run.step('late', () => run.attempt)
  } catch (error) {
    tell('refused', run, (error as { reason?: unknown }).reason)
    throw error
  }
}

/** Stays in until ordered to go, under a lease of the default 30 s. */
export const stays = defineWorkflow({ name: 'stays', maxAttempts: 40, handler: stay })

export const staysBriefly = defineWorkflow({ name: 'stays briefly', lease: '1.5s', handler: stay })

function burn(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** Burns the processor for longer than its lease, in its first attempt. */
export const burns = defineWorkflow({
  name: 'burns',
  lease: '1.5s',
  handler: async (_, run) =>
    run.step('burn', () => {
      tell('entered', run)
      burn(run.attempt === 1 ? 3_000 : 0)
      return run.attempt
    }),
})

/** The same, and does not come to an end then. */
export const burnsAndStays = defineWorkflow({
  name: 'burns and stays',
  lease: '1.5s',
  handler: async (_, run) => {
    tell('entered', run)
    if (run.attempt > 1) return run.attempt
    burn(3_000)
    return new Promise<number>(() => undefined)
  },
})

/** Ends its own process, with nothing said. Not for the test's process. */
export const kills = defineWorkflow({
  name: 'kills its process',
  maxAttempts: 2,
  handler: (_, run) => {
    tell('entered', run)
    process.kill(process.pid, 'SIGKILL')
    return new Promise<void>(() => undefined)
  },
})
