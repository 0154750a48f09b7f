/**
 * How a handler speaks with the test that started its worker, in whichever process that is: it tells what it does, and
 * waits for orders.
 */

export interface Told {
  readonly word: string
  readonly runId: string
  readonly attempt: number
  readonly value: unknown
}

let listener: (told: Told) => void = () => undefined
const given = new Map<string, { readonly promise: Promise<void>; readonly give: () => void }>()

/** Says to the test what the handler does: `entered`, `step`, `done`, or any word the two agreed on. */
export function tell(word: string, run: { readonly id: string; readonly attempt: number }, value?: unknown): void {
  listener({ word, runId: run.id, attempt: run.attempt, value })
}

/** Resolves once the test has given the order, be it before or after. */
export function ordered(word: string): Promise<void> {
  return entryOf(word).promise
}

export function giveOrder(word: string): void {
  entryOf(word).give()
}

/** Takes what handlers of this process tell. */
export function listen(fn: (told: Told) => void): void {
  listener = fn
}

function entryOf(word: string): { readonly promise: Promise<void>; readonly give: () => void } {
  const known = given.get(word)
  if (known) return known
  let give: () => void = () => undefined
  const promise = new Promise<void>((resolve) => void (give = resolve))
  const entry = { promise, give: () => give() }
  given.set(word, entry)
  return entry
}
