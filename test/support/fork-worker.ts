import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import type { Address } from './database.ts'
import type { Told } from './tell.ts'
import { fastTimings, type LogLine } from './worker.ts'
import type { Order, ProcessOptions, Report } from './worker-process.ts'

export interface ForkOptions extends Partial<Pick<ProcessOptions, 'concurrency' | 'graceMs' | 'timings'>> {
  /** The module whose exported workflows the worker runs. */
  readonly module: URL
}

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
const forked = new Set<ForkedWorker>()

afterEach(async () => {
  await Promise.all([...forked].map((worker) => worker.kill()))
})

/** A worker in a process of its own, ready when this resolves, killed after the test at the latest. */
export async function forkWorker(database: Address, options: ForkOptions): Promise<ForkedWorker> {
  const { module, concurrency = 16, graceMs = 1_000, timings = fastTimings } = options
  const { connectionString } = database
  const worker = new ForkedWorker({ connectionString, module: module.href, concurrency, graceMs, timings })
  forked.add(worker)
  await worker.ready()
  return worker
}

export class ForkedWorker {
  readonly ended: Promise<Exit>
  readonly #child: ChildProcess
  readonly #reports: Report[] = []
  #waiters: Waiter[] = []
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

  /** Lets go on the handlers that wait for this word. */
  order(word: string): void {
    this.#child.send({ order: word } satisfies Order)
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
    this.#reports.push(report)
    const served = this.#waiters.filter((waiter) => waiter.isWanted(report))
    this.#waiters = this.#waiters.filter((waiter) => !served.includes(waiter))
    for (const { resolve } of served) resolve(report)
  }

  #end(exit: Exit): Exit {
    this.#exit = exit
    forked.delete(this)
    for (const { reject } of this.#waiters.splice(0)) reject(this.#unasked())
    return exit
  }

  #unasked(): Error {
    return new Error(`The worker process has ended (${this.#exit?.signal ?? this.#exit?.code}). ${this.#lastWords}`)
  }
}
