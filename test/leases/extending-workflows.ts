import { defineWorkflow } from '../../src/index.ts'

/** Blocks its event loop for many of its leases, under one that it has lengthened before. */
export const burnsExtended = defineWorkflow({
  name: 'burns under a longer lease',
  lease: '500ms',
  handler: async (_, run) => {
    await run.extend('30s')
    return await run.step('burn', () => {
      for (const end = performance.now() + 4_000; performance.now() < end;);
      return run.attempt
    })
  },
})
