import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** A forked worker: tells when it is ready, whether it ended unasked, and what it said. */
export class WorkerProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #ready: Promise<unknown>
  readonly #ended: Promise<unknown>
  #lastWords = ''
  #isEnding = false

  constructor(name: string, script: URL, environment: Record<string, string>) {
    this.name = name
    this.#child = fork(script, {
      env: { ...process.env, ...environment, WORKER_NAME: name },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#ready = once(this.#child, 'message')
    this.#ended = once(this.#child, 'exit')
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk) => (this.#lastWords = (this.#lastWords + chunk).slice(-2000)))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isAlive(): boolean {
    return !this.#isEnding && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The end of its log: of interest when something went wrong. */
  get lastWords(): string {
    return this.#lastWords
  }

  /** Resolves once the worker takes runs. */
  async ready(): Promise<void> {
    await this.#ready
  }

  /** Rejects when the worker ends although nobody asked it to. */
  async endedUnasked(): Promise<never> {
    await this.#ended
    if (this.#isEnding) return new Promise(() => {})
    throw new Error(`Worker ${this.name} ended by itself.`)
  }

  /** SIGKILL: no handler runs, nothing is flushed, no farewell reaches the database. */
  kill(): void {
    this.#isEnding = true
    this.#child.kill('SIGKILL')
  }

  /** SIGTERM: the worker finishes what it has begun. */
  async stop(): Promise<void> {
    this.#isEnding = true
    this.#child.kill('SIGTERM')
    await this.#ended
  }
}
