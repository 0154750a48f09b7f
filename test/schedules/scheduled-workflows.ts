import { defineWorkflow } from '../../src/index.ts'
import { tell } from '../support/tell.ts'

/** What worker processes run by themselves. */
export const everySecond = defineWorkflow({
  name: 'every second',
  schedule: { every: '1s', overlap: 'allow' },
  handler: (_, run) => {
    tell('fired', run, run.metadata['scheduledFor'])
    return run.metadata['scheduledFor']
  },
})
