import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import { variant } from '../support/variant.ts'

/** The command as it is installed. The test command builds it first; by hand that is `npm run build`. */
export const bin: string = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

if (!existsSync(bin)) throw new Error('dist/cli/bin.js is not there. Run `npm run build` first.')

export interface Result {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** What a command is told besides the database: the schema that tests have there. */
export const schemaArgs: readonly string[] = variant.schema === undefined ? [] : ['--schema', variant.schema]

type Environment = Readonly<Record<string, string | undefined>>

/** A `workflow` command under way, killed after the test at the latest. */
export class RunningCli {
  readonly ended: Promise<Result>
  readonly #child: ChildProcess
  #stdout = ''
  #stderr = ''
  #onOutput: () => void = () => undefined

  constructor(command: string, args: readonly string[], environment: Environment) {
    // What colours output or names a database is for the test to say, not for where it runs.
    const neutral = { DATABASE_URL: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined }
    this.#child = spawn(command, args, { env: { ...process.env, ...neutral, ...environment }, stdio: 'pipe' })
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString()
      this.#onOutput()
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString()
      this.#onOutput()
    })
    this.ended = once(this.#child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
    running.add(this)
  }

  /** Resolves once it has written the text. Rejects if it ends without. */
  async said(text: string): Promise<void> {
    const ended = this.ended.then(({ code, stderr }) => {
      throw new Error(`It ended with ${code} and did not say '${text}':\n${stderr}`)
    })
    ended.catch(() => undefined)
    while (!(this.#stdout + this.#stderr).includes(text)) {
      await Promise.race([new Promise<void>((resolve) => void (this.#onOutput = resolve)), ended])
    }
  }

  /** All that it has written so far. */
  get output(): string {
    return this.#stdout + this.#stderr
  }

  type(text: string): void {
    this.#child.stdin?.write(text)
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

const running = new Set<RunningCli>()

afterEach(async () => {
  for (const cli of running) cli.send('SIGKILL')
  await Promise.all([...running].map((cli) => cli.ended))
  running.clear()
})

export function startCli(args: readonly string[], environment: Environment = {}): RunningCli {
  // A test that names a schema means that one.
  const isAbout = environment['DATABASE_URL'] !== undefined && !args.includes('--schema')
  return new RunningCli(process.execPath, [bin, ...args, ...(isAbout ? schemaArgs : [])], environment)
}

export function runCli(args: readonly string[], environment: Environment = {}): Promise<Result> {
  return startCli(args, environment).ended
}

/** What a command with --json says. */
export async function jsonOf<T>(args: readonly string[], environment: Environment): Promise<T> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], environment)
  if (code !== 0) throw new Error(`workflow ${args.join(' ')} ended with ${code}:\n${stderr}`)
  return JSON.parse(stdout) as T
}
