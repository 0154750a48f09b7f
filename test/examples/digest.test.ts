import { expect, test } from 'vitest'
import { mail } from '../../examples/digest/mail.ts'
import { openNews, report } from '../../examples/digest/news.ts'
import { sendDigest } from '../../examples/digest/send-digest.ts'
import { createWorker } from '../../src/index.ts'
import { useRuntime } from '../testing/use-runtime.ts'
import { usePool } from './use-pool.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const runtime = useRuntime({ workflows: [sendDigest] })
const pool = usePool(runtime, openNews)

const clockInBerlin = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Berlin',
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

function isDigestTime(at: Date): boolean {
  return /^(?:Mon|Tue|Wed|Thu|Fri),? 08:00$/.test(clockInBerlin.format(at))
}

/** By the calendar, without a cron expression: each full hour at which a clock in Berlin shows a weekday's 8:00. */
function weekdayMornings(from: Date, to: Date): string[] {
  const found: string[] = []
  for (let ms = Math.ceil(from.getTime() / hourMs) * hourMs; ms <= to.getTime(); ms += hourMs) {
    const at = new Date(ms)
    if (isDigestTime(at)) found.push(at.toISOString())
  }
  return found
}

/** The instants of the digests since then. */
async function digestsSince(from: Date): Promise<string[]> {
  const { items } = await runtime().client.list({ workflow: sendDigest, limit: 500 })
  const instants = items.map((run) => run.metadata['scheduledFor'] ?? 'none')
  return instants.filter((instant) => instant >= from.toISOString()).toSorted()
}

/** Moves on to a Saturday's noon in Berlin, more or less. */
async function goToWeekend(from: Date): Promise<Date> {
  let ms = from.getTime() + hourMs
  while (!/^Sat,? 12/.test(clockInBerlin.format(ms))) ms += hourMs
  await runtime().advance(ms - from.getTime())
  return await runtime().now()
}

test('seven days have five digests, on weekday mornings, and each item is told once', async () => {
  const from = await goToWeekend(await runtime().now())
  await report(pool(), { recipient: 'ada', headline: 'on Saturday', at: from })
  await report(pool(), { recipient: 'ada', headline: 'on Wednesday', at: new Date(from.getTime() + 4 * dayMs) })
  await report(pool(), { recipient: 'bob', headline: 'on Sunday', at: new Date(from.getTime() + dayMs) })
  await runtime().advance('7d')

  const instants = await digestsSince(from)
  expect(instants).toHaveLength(5)
  expect(instants).toEqual(weekdayMornings(from, await runtime().now()))
  expect(mail.sent.map(({ to, text }) => `${to}: ${text}`).toSorted()).toEqual([
    'ada: on Saturday',
    'ada: on Wednesday',
    'bob: on Sunday',
  ])
})

test('two workers send no digest twice', async () => {
  const beside = createWorker({
    connectionString: runtime().connectionString,
    migrate: 'verify',
    workflows: [sendDigest],
  })
  await beside.start()
  const [from, sentBefore] = [await goToWeekend(await runtime().now()), mail.sent.length]
  for (let day = 0; day < 7; day += 1) {
    await report(pool(), { recipient: 'ada', headline: `day ${day}`, at: new Date(from.getTime() + day * dayMs) })
  }
  await runtime().advance('7d')
  await beside.stop()

  expect(await digestsSince(from)).toEqual(weekdayMornings(from, await runtime().now()))
  const told = mail.sent.slice(sentBefore).map(({ text }) => text)
  // Saturday's and Sunday's news are Monday's.
  expect(told).toEqual(['day 0\nday 1', 'day 2', 'day 3', 'day 4', 'day 5'])
})

test('the digest stays at eight in the morning when the clocks are changed', async () => {
  const now = await runtime().now()
  const change = nextChange(now)
  // Months of digests would say nothing that a week does not.
  await pool().query(`select holdfast.pause_schedule('send digest', 'this test', null)`)
  await runtime().advance(change - now.getTime() - 4 * dayMs)
  await pool().query(`select holdfast.resume_schedule('send digest')`)
  const from = await runtime().now()
  await runtime().advance('7d')

  const instants = await digestsSince(from)
  expect(instants).toEqual(weekdayMornings(from, await runtime().now()))
  expect(new Set(instants.map((instant) => instant.slice(11, 16)))).toEqual(new Set(['06:00', '07:00']))
})

/** When clocks in Berlin are changed next: the first hour whose offset is another than now. */
function nextChange(now: Date): number {
  const offsetAt = (ms: number): string | undefined =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeZoneName: 'longOffset' })
      .formatToParts(ms)
      .find(({ type }) => type === 'timeZoneName')?.value
  const first = now.getTime() + 5 * dayMs
  let ms = first
  while (offsetAt(ms) === offsetAt(first)) ms += hourMs
  return ms
}
