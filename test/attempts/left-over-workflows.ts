import { defineWorkflow } from '../../src/index.ts'
import { tell } from '../support/tell.ts'

/** Its only step never ends and has an hour to do so. */
export const lingering = defineWorkflow({
  name: 'lingering',
  handler: (_, run) =>
    run.step(
      'linger',
      () => {
        tell('entered', run)
        return new Promise(() => undefined)
      },
      { timeout: '1h' },
    ),
})
