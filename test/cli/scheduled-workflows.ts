import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'

export const report = defineWorkflow({
  name: 'report',
  input: z.object({ kind: z.string() }),
  schedule: { cron: '0 9 * * 1-5', zone: 'Europe/Berlin', input: { kind: 'sales' } },
  handler: ({ kind }) => kind,
})

export const beat = defineWorkflow({ name: 'beat', schedule: { every: '90m', overlap: 'queue' }, handler: () => 1 })
