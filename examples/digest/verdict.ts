import type { Check } from '../support/print.ts'
import { headlines } from './headlines.ts'
import { mail } from './mail.ts'

/** What the example must have shown. One claim that does not hold makes it exit with 1. */
export function judge(digests: readonly { readonly instant: string; readonly mails: number }[]): Check[] {
  const told = mail.sent.flatMap(({ text }) => text.split('\n'))
  const instants = new Set(digests.map(({ instant }) => instant))
  const mails = digests.reduce((sum, digest) => sum + digest.mails, 0)
  return [
    {
      holds: told.length === headlines.length && headlines.every((headline) => told.includes(headline)),
      claim: 'Each item was told once',
      found: `${told.length} of ${headlines.length}`,
    },
    {
      holds: instants.size === digests.length && digests.length > 1,
      claim: 'Each instant had one digest',
      found: `${digests.length} digests`,
    },
    {
      holds: mails === mail.sent.length,
      claim: 'What the runs answered is what was sent',
      found: `${mails} mails`,
    },
  ]
}
