/** What the SDK can record of anything that was thrown. */
export function toException(thrown: unknown): Error | string {
  return thrown instanceof Error ? thrown : String(thrown)
}

/** The name of an error; of anything else its type. */
export function errorTypeOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown
}
