import type { ClaimView, RunView } from '../client/run-view.ts'

export interface ShowFlags {
  readonly json?: boolean
  readonly payloads?: boolean
}

/** One run, one field a line, then its claims; payloads only when asked. */
export function printRun(run: RunView, flags: ShowFlags): void {
  if (flags.json) return printJson(toJson(run, flags))
  const { claims, ...fields } = toJson(run, flags)
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) console.log(`${name.padEnd(12)} ${readable(value)}`)
  }
  if (run.claims && run.claims.length > 0) printClaims(run.claims)
}

/** The first one first, as it went. */
function printClaims(claims: readonly ClaimView[]): void {
  const hasUrls = claims.some((claim) => claim.traceUrl !== undefined)
  console.log('')
  printTable(
    ['claim', 'attempt', 'began', 'ms', 'outcome', 'trace', 'why'],
    claims
      .toReversed()
      .map((claim) => [
        String(claim.token),
        String(claim.attempt),
        claim.beganAt.toISOString(),
        claim.endedAt === undefined ? '-' : String(claim.endedAt.getTime() - claim.beganAt.getTime()),
        claim.outcome ?? 'running',
        (hasUrls ? claim.traceUrl : claim.traceId) ?? '-',
        printable(claim.reason ?? ''),
      ]),
    true,
  )
}

/** One run a line: aligned for people, one JSON array with --json. */
export function printRuns(runs: readonly RunView[], flags: ShowFlags): void {
  if (flags.json) return printJson(runs.map((run) => toJson(run, flags)))
  if (runs.length === 0) return console.error('No run fits.')
  const rows = runs.map((run) => [
    run.id,
    run.workflow,
    run.state,
    `${run.attempt}/${run.maxAttempts}`,
    run.createdAt.toISOString(),
    printable(run.key ?? '-'),
    run.failure === undefined ? '' : printable(`${run.failure}: ${run.reason ?? ''}`),
  ])
  printTable(['id', 'workflow', 'state', 'attempt', 'created', 'key', 'why'], rows, process.stdout.isTTY)
}

/** Columns as wide as what is in them. */
function printTable(head: readonly string[], rows: readonly (readonly string[])[], hasHead: boolean): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of hasHead ? [head, ...rows] : rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, jsonSafe))
}

function toJson(run: RunView, { payloads }: ShowFlags): Record<string, unknown> {
  const { input, output, lastError, ...rest } = run
  return {
    ...rest,
    lastError: lastError && `${lastError.name}: ${lastError.message}`,
    ...(payloads ? { input, output } : {}),
  }
}

function readable(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return printable(typeof value === 'string' ? value : JSON.stringify(value, jsonSafe))
}

/** Keeps a text on its line, and its control characters from the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** What JSON cannot say is shown as text: a display, not the stored form. */
function jsonSafe(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [String(key), each]))
  if (value instanceof Set) return [...value]
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as Uint8Array)
  if (value instanceof RegExp || value instanceof Error) return String(value)
  return value
}
