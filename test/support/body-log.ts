import { openSync, readFileSync, writeSync } from 'node:fs'

/**
 * What a process did, line by line, in a file of its own. Each line is with the operating system before what comes after
 * it begins, so that it outlives a SIGKILL. Without a file nothing is written.
 */

export interface BodyLine {
  /** `begin` and `end`: a body was entered, and is about to answer `value`. `got`: the handler was given `value`. */
  readonly did: 'begin' | 'end' | 'got' | 'refused' | 'settled' | 'freeze' | 'kill'
  readonly run: string
  /** The step's key; the SQL function's name where a call was refused or a fail-point was met. */
  readonly key: string
  readonly value?: unknown
  readonly token?: number
  /** How a settle ended its claim, or would have. */
  readonly outcome?: string
  /** By the process's clock, in milliseconds. */
  readonly at: number
}

let file: number | undefined

export function openBodyLog(path: string): void {
  file = openSync(path, 'a')
}

export function logBody(line: Omit<BodyLine, 'at'>): void {
  if (file !== undefined) writeSync(file, `${JSON.stringify({ ...line, at: Date.now() })}\n`)
}

export function readBodyLog(path: string): BodyLine[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    // The process ended before it began.
    return []
  }
  // A kill may leave half a line.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as BodyLine]))
}
