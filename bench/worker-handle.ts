/** The harness's end of the worker process. */
import { fork, type ChildProcess } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerName } from './peers/index.ts'
import type { Load } from './peers/peer.ts'
import type { Command, Report } from './worker-process.ts'

const entry = fileURLToPath(new URL('./worker-entry.mjs', import.meta.url))
const stopPatienceMs = 15_000

interface Waiter {
  readonly type: Report['type']
  readonly resolve: (report: Report) => void
  readonly reject: (error: Error) => void
}

export class WorkerHandle {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  #waiters: Waiter[] = []
  #failure: Error | undefined

  /** `profile`: the file that the process's CPU profile goes to when it ends. */
  constructor(profile: string | undefined) {
    this.#child = fork(entry, {
      execArgv: profile
        ? ['--cpu-prof', `--cpu-prof-dir=${dirname(profile)}`, `--cpu-prof-name=${basename(profile)}`]
        : [],
      // Whatever the worker prints goes beside the progress lines: the last line of stdout is the result.
      stdio: ['ignore', process.stderr, process.stderr, 'ipc'],
    })
    this.#child.on('message', (report: Report) => this.#take(report))
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#fail(new Error(`The worker process ended (${signal ?? code}).`))
        resolve()
      })
    })
  }

  async load(peer: WorkerName, load: Load): Promise<void> {
    await this.#ask({ type: 'load', peer, load }, 'loaded')
  }

  /** Resolves when it takes runs. */
  async start(): Promise<void> {
    await this.#ask({ type: 'start' }, 'started')
  }

  /** When each run's handler was first called. */
  async begunAt(): Promise<Readonly<Record<number, number>>> {
    const report = await this.#ask({ type: 'begun' }, 'begun')
    return report.instants
  }

  /** Resolves when every handler has finished. */
  async work(): Promise<void> {
    await this.#ask({ type: 'start' }, 'finished')
  }

  /** As `work`, of a worker that takes runs already. */
  async finish(): Promise<void> {
    await this.#hear('finished')
  }

  /** Lets the handlers at these gates go on. Resolves when in all `until` handlers have come to a gate. */
  async open(gates: readonly number[], until: number): Promise<void> {
    await this.#ask({ type: 'open', gates, until }, 'reached')
  }

  async cpuMs(): Promise<number> {
    const report = await this.#ask({ type: 'cpu' }, 'cpu')
    return report.ms
  }

  /** What it holds of the machine's memory, garbage collected. */
  async residentBytes(): Promise<number> {
    const report = await this.#ask({ type: 'memory' }, 'memory')
    return report.bytes
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send({ type: 'stop' } satisfies Command)
    const patience = setTimeout(() => this.#child.kill('SIGKILL'), stopPatienceMs)
    await this.#exited
    clearTimeout(patience)
  }

  kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    return this.#exited
  }

  #ask<Type extends Report['type']>(command: Command, type: Type): Promise<Extract<Report, { type: Type }>> {
    const answer = this.#hear(type)
    if (!this.#failure) this.#child.send(command)
    return answer
  }

  #hear<Type extends Report['type']>(type: Type): Promise<Extract<Report, { type: Type }>> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure)
      this.#waiters.push({ type, resolve: (report) => resolve(report as Extract<Report, { type: Type }>), reject })
    })
  }

  #take(report: Report): void {
    if (report.type === 'failed') return this.#fail(new Error(`The worker process failed: ${report.error}`))
    const waiter = this.#waiters.find(({ type }) => type === report.type)
    if (!waiter) return
    this.#waiters = this.#waiters.filter((other) => other !== waiter)
    waiter.resolve(report)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}
