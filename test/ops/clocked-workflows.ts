import { defineWorkflow } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

export const hour = 3_600_000

/** Sets this process's time of day off for all that run in it, other libraries too. */
export function setOff(ms: number): void {
  const { Date: Real } = globalThis
  globalThis.Date = class extends Real {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(Real.now() + ms)
      else super(...(args as [number]))
    }
    static override now(): number {
      return Real.now() + ms
    }
  } as DateConstructor
}

export const prompt = defineWorkflow({ name: 'prompt', handler: () => undefined })

/** Goes on past several leases, until it is told. */
export const long = defineWorkflow({
  name: 'long',
  lease: '1s',
  handler: async (_, run) => {
    tell('began', run, new Date().getTime())
    if (run.attempt === 1) await ordered('end')
  },
})
