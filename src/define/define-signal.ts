import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ArgumentError } from '../model/errors.ts'
import type { Schema } from '../model/schema.ts'
import type { Signal } from '../model/signal.ts'
import { unstorable } from '../model/storable.ts'

/** What `defineSignal` takes. */
export interface SignalOptions<SS extends Schema | undefined = Schema | undefined> {
  /** At most 200 characters, without any of `# / [ ]`. */
  name: string
  /** Checks and parses the payload, when it is sent and when it is received. Default: none; the payload is `unknown`. */
  schema?: SS
}

/** Defines a kind of message to runs, for `run.waitFor` and `client.signal`. Throws ArgumentError. */
export function defineSignal<SS extends Schema | undefined = undefined>(
  options: SignalOptions<SS>,
): Signal<
  SS extends Schema ? StandardSchemaV1.InferOutput<SS> : unknown,
  SS extends Schema ? StandardSchemaV1.InferInput<SS> : unknown
> {
  const { name, schema } = options
  checkName(name, 'signal')
  return Object.freeze({ name, schema })
}

const longestName = 200

/** Refuses names of steps and signals that could be mistaken for a key's own signs, or not be stored. */
export function checkName(name: unknown, what: 'step' | 'signal'): asserts name is string {
  const problem =
    typeof name !== 'string'
      ? `is ${name === null ? 'null' : `a ${typeof name}`}`
      : name === ''
        ? 'is empty'
        : name.length > longestName
          ? `is longer than ${longestName} characters`
          : /[#/[\]]/.test(name)
            ? 'holds one of # / [ ]'
            : unstorable(name)
  if (problem === undefined) return
  throw new ArgumentError(`The ${what} name ${typeof name === 'string' ? JSON.stringify(name) : ''} ${problem}.`, {
    field: 'name',
    remedy: `Give a text such as ${what === 'step' ? '"charge card"' : '"approved"'}.`,
  })
}

/** The signal that a call names, be it by its name alone. */
export function readSignal(given: unknown, schema?: Schema): Signal {
  const signal = typeof given === 'object' && given !== null ? (given as Signal) : { name: given as string, schema }
  checkName(signal.name, 'signal')
  return signal
}
