import { NonRetryableError } from '../../src/index.ts'

const closedAccount = 'DE00 CLOSED'

/** Stands in for a bank's API: pays once for each idempotency key. */
class Bank {
  readonly #receipts = new Map<string, string>()

  transfer(account: string, cents: number, idempotencyKey: string): string {
    // Trying again would not open it: the run that pays fails at once.
    if (account === closedAccount) throw new NonRetryableError(`The account ${account} is closed.`)
    const receipt = this.#receipts.get(idempotencyKey) ?? `R-${101 + this.#receipts.size}, ${cents} cents to ${account}`
    this.#receipts.set(idempotencyKey, receipt)
    return receipt
  }
}

export const bank = new Bank()
