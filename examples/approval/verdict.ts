import { euros } from './expense.ts'
import { mail } from './mail.ts'
import { listed, type Check } from '../support/print.ts'
import { stories } from './stories.ts'

export interface Ending {
  readonly what: string
  readonly outcome: 'paid' | 'refused'
  readonly detail: string
  /** The steps that were rolled back. */
  readonly undone: readonly string[]
  readonly cause: string | undefined
}

/** What the example must have shown. One claim that does not hold makes it exit with 1. */
export function judge(endings: readonly Ending[], spentCents: number): Check[] {
  const wrong = stories.filter(({ what, ends }) => endings.find((each) => each.what === what)?.outcome !== ends)
  const paidCents = stories.filter(({ ends }) => ends === 'paid').reduce((sum, { cents }) => sum + cents, 0)
  const refused = endings.filter(({ outcome }) => outcome === 'refused')
  const reminded = mail.sent.flatMap(({ subject }) => /^still open: (.+)/.exec(subject)?.[1] ?? [])
  const unpaid = endings.find(({ what }) => what === 'old invoice')
  return [
    {
      holds: wrong.length === 0,
      claim: 'Each expense ended as it should',
      found: wrong.length > 0 ? `not so: ${listed(wrong.map(({ what }) => what))}` : `${endings.length} expenses`,
    },
    {
      holds: ['chair', 'espresso machine'].every((what) => reminded.includes(what)),
      claim: 'A reminder went out where nobody had answered',
      found: listed(reminded),
    },
    {
      holds: unpaid?.cause?.includes('closed') === true,
      claim: "The failed payment is the cause of its expense's failure",
      found: unpaid?.cause ?? 'no cause',
    },
    {
      holds: refused.every(({ undone }) => undone.includes('reserve')) && spentCents === paidCents,
      claim: 'What was refused was rolled back: the budget lacks what was paid, and no cent more',
      found: euros(spentCents),
    },
  ]
}
