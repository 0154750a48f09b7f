/**
 * News comes in for three people, and a scheduled workflow sends each of them a digest, every two seconds here. README.md tells
 * how to read what this prints.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createWorker } from '../../src/index.ts'
import { printChecks, printTable } from '../support/print.ts'
import { runExample } from '../support/run-example.ts'
import { mail } from './mail.ts'
import { headlines } from './headlines.ts'
import { openNews, report } from './news.ts'
import { defineDigest } from './send-digest.ts'
import { judge } from './verdict.ts'

const recipients = ['ada', 'bob', 'cem']
const isSoonMs = 300

/** As `sendDigest`, for people in a hurry. */
const hastyDigest = defineDigest({ every: '2s', catchUp: 'one', overlap: 'skip' })

await runExample('digest', async ({ connectionString, pool, client, cleanups }) => {
  await openNews(pool)
  const worker = createWorker({ connectionString, workflows: [hastyDigest] })
  cleanups.push(() => worker.stop({ grace: 0 }))
  await worker.start()
  console.log(`${headlines.length} items come in, and a digest goes out every two seconds.\n`)

  const isAllTold = new Promise<void>((resolve) => {
    let left = headlines.length
    mail.onSent(({ to, subject, text }) => {
      console.log(`Mail to ${to}, ${subject}: ${text.replaceAll('\n', '; ')}`)
      left -= text.split('\n').length
      if (left <= 0) resolve()
    })
  })
  for (const [index, headline] of headlines.entries()) {
    await report(pool, { recipient: recipients[index % recipients.length] ?? '', headline })
    await delay(isSoonMs)
  }
  await isAllTold
  await worker.stop()

  const { items } = await client.list({ workflow: hastyDigest })
  const digests = items
    .map(({ metadata, output }) => ({
      instant: metadata['scheduledFor'] ?? '',
      mails: (output as { mails: number } | undefined)?.mails ?? 0,
    }))
    .toSorted((a, b) => a.instant.localeCompare(b.instant))
  printTable(
    'Digests, by the database',
    digests.map(({ instant, mails }) => [`for ${instant.slice(11, 19)} UTC`, mails, mails === 1 ? 'mail' : 'mails']),
  )
  const checks = judge(digests)
  printChecks(checks)
  return checks
})
