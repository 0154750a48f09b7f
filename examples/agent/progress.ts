import colors from 'picocolors'
import { LiveLine } from '../support/live-line.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import type { Call, ModelServer } from './model-server.ts'
import { tenants } from './questions.ts'

/** Shows how far the runs are, for the reader alone: the report counts for itself. */
export class Progress {
  readonly #model: ModelServer
  readonly #workers: readonly WorkerProcess[]
  readonly #live = new LiveLine()
  readonly #answered = new Map<string, number>()

  constructor(model: ModelServer, workers: readonly WorkerProcess[]) {
    this.#model = model
    this.#workers = workers
    model.events.on('call', this.#show).on('end', this.#show)
  }

  get endedCount(): number {
    return [...this.#answered.values()].reduce((sum, count) => sum + count, 0)
  }

  count(tenant: string): void {
    this.#answered.set(tenant, (this.#answered.get(tenant) ?? 0) + 1)
    this.#show()
  }

  tellOfCrash({ victim, call }: { victim: WorkerProcess; call: Call }): void {
    const others = this.#workers.filter((worker) => worker !== victim).map((worker) => worker.name)
    this.#live.note(
      `${colors.yellow(`Worker ${victim.name} is killed (SIGKILL) while it waits for an answer for ${call.tenant}.`)}\n` +
        `Nobody restarts it: worker ${others.join(' and ')} will notice and take over.`,
    )
    this.#show()
  }

  end(): void {
    this.#model.events.off('call', this.#show).off('end', this.#show)
    this.#live.end()
  }

  readonly #show = (): void => {
    const inFlight = this.#model.calls.filter((call) => call.end === 'in flight').length
    const alive = this.#workers.filter((worker) => worker.isAlive).map((worker) => worker.name)
    const counts = tenants.map(({ name, count }) => `${name} ${this.#answered.get(name) ?? 0}/${count}`)
    this.#live.update(`${counts.join(', ')} answered, ${inFlight} at the model · workers: ${alive.join(', ')}`)
  }
}
