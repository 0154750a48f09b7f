import { ArgumentError } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import { custom, isShortText, queryable } from './checks.ts'
import type { OptionTable } from './option.ts'
import { createOptionReader } from './option-reader.ts'

/** What the client's calls that send something to a run take, each with its reader. Each reader throws ArgumentError. */

/** What `client.signal` takes after the payload. */
export interface SendOptions {
  /** Sent again under the same id it is the same signal, which is received once. At most 512 characters. Default: a new one. */
  id?: string | undefined
  /** The transaction with whose commit it is sent. Default: none; it is sent by itself. */
  tx?: Queryable | undefined
}

/** What `client.unpark` takes after the answer. */
export interface UnparkOptions {
  /** What the run is parked at, where it is parked at several. Default: the one it is parked at. */
  step?: string | undefined
  /** Who answers, kept with the answer. At most 512 characters. Default: none. */
  by?: string | undefined
}

type Read<T> = { readonly [K in keyof Required<T>]: T[K] }

const longestText = 512
const shortText = custom<string>(
  (value) => isShortText(value, longestText),
  `a text of 1 to ${longestText} characters without U+0000 and lone surrogates, or leave it out`,
)

export const sendOptions: OptionTable<SendOptions, Read<SendOptions>> = {
  id: {
    type: 'string',
    defaultNote: 'a new one',
    check: shortText,
    doc: `Sent again under the same id it is the same signal, which is received once. At most ${longestText} characters.`,
  },
  tx: {
    type: '{ query(text, values) }',
    defaultNote: 'none; it is sent by itself',
    check: queryable(),
    doc: 'The transaction with whose commit it is sent.',
  },
}

export const unparkOptions: OptionTable<UnparkOptions, Read<UnparkOptions>> = {
  step: {
    type: 'string',
    defaultNote: 'the one it is parked at',
    check: shortText,
    doc: 'What the run is parked at, where it is parked at several.',
  },
  by: {
    type: 'string',
    check: shortText,
    doc: `Who answers, kept with the answer. At most ${longestText} characters.`,
  },
}

const readSend = createOptionReader(sendOptions, ArgumentError)
const readUnpark = createOptionReader(unparkOptions, ArgumentError)

export function parseSendOptions(given: SendOptions = {}): Read<SendOptions> {
  return readSend(given, 'signal')
}

export function parseUnparkOptions(given: UnparkOptions = {}): Read<UnparkOptions> {
  return readUnpark(given, 'unpark')
}
