import { didYouMean } from '../define/did-you-mean.ts'
import { ArgumentError } from '../model/errors.ts'

/** Refuses an option that a call does not have: what is misspelt would else count as left out. */
export function refuseUnknown<T extends object>(given: T, call: string, known: readonly (keyof T & string)[]): void {
  const unknown = Object.keys(given).find((name) => !(known as readonly string[]).includes(name))
  if (unknown === undefined) return
  throw new ArgumentError(`${call}: unknown option ${unknown}.`, { field: unknown, remedy: didYouMean(unknown, known) })
}
