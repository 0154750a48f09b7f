import colors from 'picocolors'
import { LiveLine } from '../support/live-line.ts'
import type { Call, PaymentServer } from './payment-server.ts'
import type { WorkerProcess } from '../support/worker-process.ts'

/** Shows how far the orders are, for the reader alone: the report counts for itself. */
export class Progress {
  readonly #total: number
  readonly #payments: PaymentServer
  readonly #workers: readonly WorkerProcess[]
  readonly #live = new LiveLine()
  readonly #ends = { done: 0, failed: 0 }

  constructor(total: number, payments: PaymentServer, workers: readonly WorkerProcess[]) {
    this.#total = total
    this.#payments = payments
    this.#workers = workers
    payments.events.on('call', this.#show).on('end', this.#show)
  }

  get endedCount(): number {
    return this.#ends.done + this.#ends.failed
  }

  count(end: 'done' | 'failed'): void {
    this.#ends[end]++
    this.#show()
  }

  tellOfCrash({ victim, call }: { victim: WorkerProcess; call: Call }): void {
    const others = this.#workers.filter((worker) => worker !== victim).map((worker) => worker.name)
    this.#live.note(
      `${colors.yellow(`Worker ${victim.name} is killed (SIGKILL) while it charges for ${call.orderId}.`)}\n` +
        `Nobody restarts it: worker ${others.join(' and ')} will notice and take over.`,
    )
    this.#show()
  }

  end(): void {
    this.#payments.events.off('call', this.#show).off('end', this.#show)
    this.#live.end()
  }

  readonly #show = (): void => {
    const { done, failed } = this.#ends
    const inFlight = this.#payments.ledger.calls.filter((call) => call.end === 'in flight').length
    const alive = this.#workers.filter((worker) => worker.isAlive).map((worker) => worker.name)
    this.#live.update(
      `${this.endedCount}/${this.#total} orders: ${done} done, ${failed} failed, ${inFlight} charging` +
        ` · workers: ${alive.join(', ')}`,
    )
  }
}
