import type { Client } from '../../src/index.ts'
import type { Letter } from '../support/post-office.ts'
import { approveExpense } from './approve-expense.ts'
import { decided } from './ask-manager.ts'
import type { Expense } from './expense.ts'
import { mail } from './mail.ts'

interface Story {
  readonly what: string
  readonly cents: number
  readonly account?: string
  /** To which letter the manager says yes; to none: never. */
  readonly approvedAt?: 'please decide' | 'still open'
  readonly ends: 'paid' | 'refused'
}

export const stories: readonly Story[] = [
  { what: 'train ticket', cents: 120_00, approvedAt: 'please decide', ends: 'paid' },
  { what: 'chair', cents: 300_00, approvedAt: 'still open', ends: 'paid' },
  { what: 'espresso machine', cents: 900_00, ends: 'refused' },
  { what: 'old invoice', cents: 80_00, account: 'DE00 CLOSED', approvedAt: 'please decide', ends: 'refused' },
  { what: 'microscope', cents: 2_400_00, approvedAt: 'please decide', ends: 'paid' },
]

/** The days of real life are seconds here. */
const patience = { remindAfter: '1s', giveUpAfter: '3s' }

const people = { by: 'ada@example.com', manager: 'grace@example.com' }

export const department = 'research'

export function expenseOf({ what, cents, account = 'DE01' }: Story): Expense {
  return { id: what, ...people, department, what, cents, account, ...patience }
}

/** Plays the manager, who reads her mail and says yes or nothing, and prints all mail. */
export function playManager(client: Client, giveUp: (reason: unknown) => void): void {
  mail.onSent(({ to, subject, text }: Letter) => {
    console.log(`Mail to ${to.padEnd(17)} ${subject}${to === people.by ? `: ${text}` : ''}`)
    const story = stories.find(({ what, approvedAt }) => subject === `${approvedAt}: ${what}`)
    if (!story) return
    client
      .signal({ workflow: approveExpense, key: story.what }, decided, { by: 'grace', isApproved: true })
      .catch(giveUp)
  })
}

/** Plays the person of the finance team, who looks at what is parked until there was something. */
export async function playFinance(client: Client): Promise<string> {
  for (;;) {
    const [parked] = await client.parked({ workflow: approveExpense.name })
    if (!parked) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      continue
    }
    console.log(`Parked: ${parked.reason}`)
    console.log(`  answered as by: workflow unpark ${parked.run} --answer '{"isFine": true}'`)
    await client.unpark(parked.run, { isFine: true }, { by: 'frances' })
    return parked.run
  }
}
