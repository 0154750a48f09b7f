import { ArgumentError } from '../model/errors.ts'

/** Reads a flag's JSON. Throws ArgumentError. */
export function readJson(text: string, flag: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ArgumentError(`The value of ${flag} is not JSON.`, {
      field: flag,
      remedy: `Quote it for your shell, such as ${flag} '{"email":"a@b.c"}'.`,
      cause,
    })
  }
}
