import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'

export const tenants = defineWorkflow({
  name: 'tenants',
  input: z.object({ tenant: z.string() }),
  group: ({ tenant }) => tenant,
  concurrency: { perGroup: 2 },
  handler: () => 1,
})
