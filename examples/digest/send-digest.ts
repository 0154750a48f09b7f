import { defineWorkflow, type Schedule } from '../../src/index.ts'
import { mail } from './mail.ts'
import { gatherNews } from './news.ts'

/** One mail for each recipient who has news, with all that happened since the last digest. */
export function defineDigest(schedule: Schedule<undefined>) {
  return defineWorkflow({
    name: 'send digest',
    schedule,
    handler: async (_, run) => {
      // The instant that this run is for, not the time at which it happens to run.
      const until = run.metadata['scheduledFor']
      if (until === undefined) return run.fail('started by hand: use `workflow schedules trigger "send digest"`')

      const digests = await run.transaction('gather', (tx) => gatherNews(tx, until))
      await run.map(
        'recipients',
        digests,
        async ({ recipient, headlines }) => {
          const letter = {
            to: recipient,
            subject: headlines.length === 1 ? '1 item' : `${headlines.length} items`,
            text: headlines.join('\n'),
          }
          await run.step('mail', (step) => mail.send(letter, step.idempotencyKey), { retry: { maxTries: 3 } })
        },
        { concurrency: 5 },
      )
      return { mails: digests.length }
    },
  })
}

export const sendDigest = defineDigest({
  cron: '0 8 * * 1-5',
  zone: 'Europe/Berlin',
  // After an outage one digest tells all that was missed.
  catchUp: 'one',
  // A digest that is not done yet holds off the next, whose news the one after it tells.
  overlap: 'skip',
})
