// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import type { Schedule } from '../../src/index.ts'

// schedules: their times, and an input only where the workflow takes one
const rules: Schedule<{ tenant: string }> = {
  cron: '0 9 * * 1-5',
  zone: 'Europe/Berlin',
  catchUp: 'all',
  overlap: 'allow',
  input: { tenant: 'bakery' },
}
defineWorkflow({ name: 'x', input: z.object({ tenant: z.string() }), handler: () => 1, schedule: rules })
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: '5m' } })
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: 60_000, input: undefined, overlap: 'queue' } })
defineWorkflow({ name: 'x', input: z.string().optional(), handler: () => 1, schedule: { every: '5m' } })
const asText = z.iso.date().transform((text) => new Date(text))
defineWorkflow({
  name: 'x',
  input: asText,
  handler: (at) => at.getTime(),
  schedule: { every: '5m', input: '2030-01-31' },
})
// @ts-expect-error -- the workflow takes an input
defineWorkflow({ name: 'x', input: z.string(), handler: () => 1, schedule: { every: '5m' } })
// @ts-expect-error -- another one
defineWorkflow({ name: 'x', input: z.string(), handler: () => 1, schedule: { every: '5m', input: 5 } })
// @ts-expect-error -- the workflow takes none
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: '5m', input: 5 } })
// @ts-expect-error -- either cron or every
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: '5m', cron: '* * * * *' } })
// @ts-expect-error -- either cron or every
defineWorkflow({ name: 'x', handler: () => 1, schedule: { catchUp: 'one' } })
// @ts-expect-error -- a zone only with cron
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: '5m', zone: 'UTC' } })
// @ts-expect-error -- no such rule
defineWorkflow({ name: 'x', handler: () => 1, schedule: { every: '5m', overlap: 'kill' } })
