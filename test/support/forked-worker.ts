import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FailPoint } from './fail-points.ts'
import type { LogLine } from './log-line.ts'
import type { Told } from './tell.ts'
import type { Order, ProcessOptions, Report } from './worker-process.ts'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Waiter {
  readonly isWanted: (report: Report) => boolean
  readonly resolve: (report: Report) => void
  readonly reject: (error: Error) => void
}

const entry = fileURLToPath(new URL('worker-entry.mjs', import.meta.url))

/** A worker in a process of its own, seen from outside. */
export class ForkedWorker {
  readonly ended: Promise<Exit>
  readonly #child: ChildProcess
  readonly #reports: Report[] = []
  #waiters: Waiter[] = []
  #onReport: ((report: Report) => void) | undefined
  #exit: Exit | undefined
  #lastWords = ''

  constructor(options: ProcessOptions) {
    this.#child = fork(entry, [JSON.stringify(options)], { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#lastWords = (this.#lastWords + chunk.toString()).slice(-2_000)))
    }
    this.#child.on('message', (report: Report) => this.#take(report))
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(this.#end({ code, signal })))
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  get isAlive(): boolean {
    return this.#exit === undefined
  }

  /** The end of what it printed. */
  get lastWords(): string {
    return this.#lastWords
  }

  /** All that its handlers have told so far. */
  get told(): readonly Told[] {
    return this.#reports.flatMap((report) => (report.type === 'told' ? [report.told] : []))
  }

  get log(): readonly LogLine[] {
    return this.#reports.flatMap((report) => (report.type === 'log' ? [report] : []))
  }

  /** Resolves with the worker's id once it takes runs. */
  async ready(): Promise<string> {
    return (await this.#wait<'ready'>((each) => each.type === 'ready')).workerId
  }

  /** What a handler tells with this word, told already or not; of any run, or of one. Rejects if the process ends first. */
  async hear(word: string, runId?: string): Promise<Told> {
    const { told } = await this.#wait<'told'>(
      (each) => each.type === 'told' && each.told.word === word && (runId === undefined || each.told.runId === runId),
    )
    return told
  }

  /** Resolves with the log line, written already or not, whose message holds the text. */
  async hearLog(text: string): Promise<LogLine> {
    return await this.#wait<'log'>((each) => each.type === 'log' && each.message.includes(text))
  }

  /** From now on reports go here and are not kept: for a worker that lives long. */
  listen(onReport: (report: Report) => void): void {
    this.#onReport = onReport
    this.#reports.length = 0
  }

  /** Lets go on the handlers that wait for this word. */
  order(word: string): void {
    this.#send({ order: word })
  }

  /** The process kills or freezes itself when it next comes to this point. */
  arm(point: FailPoint): void {
    this.#send({ arm: point })
  }

  disarm(): void {
    this.#send({ arm: undefined })
  }

  /** SIGSTOP: it does nothing any more, and its connections stay open. */
  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** SIGKILL: nothing is flushed, and no farewell reaches the database. */
  async kill(): Promise<Exit> {
    this.#child.kill('SIGKILL')
    return await this.ended
  }

  /** SIGTERM, as a deploy sends it. */
  terminate(): Promise<Exit> {
    this.#child.kill('SIGTERM')
    return this.ended
  }

  #send(order: Order): void {
    // One that has just ended hears nothing.
    if (this.#child.connected) this.#child.send(order, () => undefined)
  }

  #wait<Type extends Report['type']>(
    isWanted: (report: Report) => boolean,
  ): Promise<Extract<Report, { readonly type: Type }>> {
    return new Promise<Report>((resolve, reject) => {
      const known = this.#reports.find((report) => isWanted(report))
      if (known) resolve(known)
      else if (this.#exit) reject(this.#unasked())
      else this.#waiters.push({ isWanted, resolve, reject })
    }) as Promise<Extract<Report, { readonly type: Type }>>
  }

  #take(report: Report): void {
    if (this.#onReport) return this.#onReport(report)
    this.#reports.push(report)
    const served = this.#waiters.filter((waiter) => waiter.isWanted(report))
    this.#waiters = this.#waiters.filter((waiter) => !served.includes(waiter))
    for (const { resolve } of served) resolve(report)
  }

  #end(exit: Exit): Exit {
    this.#exit = exit
    for (const { reject } of this.#waiters.splice(0)) reject(this.#unasked())
    return exit
  }

  #unasked(): Error {
    return new Error(`The worker process has ended (${this.#exit?.signal ?? this.#exit?.code}). ${this.#lastWords}`)
  }
}
