import { z } from 'zod'
import { ArgumentError } from '../model/errors.ts'
import { states, type State } from '../model/state.ts'
import type { Workflow } from '../model/workflow.ts'
import { custom, date, isShortText, whole } from './checks.ts'
import { isWorkflow } from './define-workflow.ts'
import { metadata } from './metadata-check.ts'
import type { OptionTable } from './option.ts'
import { createOptionReader } from './option-reader.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- a workflow of any input and output
type WorkflowName = Workflow<any, any, any> | string

/** What `client.list` takes. A run is listed if it fits all that is given. */
export interface ListFilter {
  /** Of that workflow, or one of several. Default: all. */
  workflow?: WorkflowName | readonly WorkflowName[] | undefined
  /** In that state, or one of several. Default: all. */
  state?: State | readonly State[] | undefined
  /** Whose key begins so. Default: any, or none. */
  keyPrefix?: string | undefined
  /** Of that group. Default: any, or none. */
  group?: string | undefined
  /** Made at that time or later. Default: none. */
  createdAfter?: Date | undefined
  /** Made before that time. Default: none. */
  createdBefore?: Date | undefined
  /** With each of these entries in their metadata. Default: none. */
  metadata?: Record<string, string> | undefined
  /** How many at most, 1 to 1000. Default: 50. */
  limit?: number | undefined
  /** Where to go on: the `cursor` of the page before. Default: the newest run. */
  cursor?: string | undefined
}

export interface ReadListFilter {
  readonly workflow: readonly string[] | undefined
  readonly state: readonly State[] | undefined
  readonly keyPrefix: string | undefined
  readonly group: string | undefined
  readonly createdAfter: Date | undefined
  readonly createdBefore: Date | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly limit: number
  readonly cursor: string | undefined
}

const mostListed = 1_000
const longest = 512

const isState = (value: unknown): value is State => states.some((state) => state === value)
const nameOf = (value: unknown): unknown => (isWorkflow(value) ? value.name : value)

/** One or several of something, as an array of what `read` makes of each. */
function some<R>(read: (value: unknown) => unknown, isRight: (value: unknown) => boolean, expected: string) {
  return (): z.ZodType<readonly R[]> =>
    z.unknown().transform((given, context) => {
      const all = (Array.isArray(given) ? given : [given]).map(read)
      const wrong = all.findIndex((each) => !isRight(each))
      if (all.length > 0 && wrong === -1) return all as R[]
      context.issues.push({ code: 'custom', input: all.length === 0 ? given : all[wrong], message: expected })
      return z.NEVER
    })
}

const text = (what: string) =>
  custom<string>((value) => isShortText(value, longest), `${what} of 1 to ${longest} characters, or leave it out`)

export const listFilter: OptionTable<ListFilter, ReadListFilter> = {
  workflow: {
    type: 'Workflow | string, or several',
    defaultNote: 'all',
    check: some<string>(nameOf, (value) => isShortText(value, longest), 'a workflow or its name, or several'),
    doc: 'Of that workflow, or one of several.',
  },
  state: {
    type: 'State, or several',
    defaultNote: 'all',
    check: some<State>((value) => value, isState, `one of ${states.join(', ')}, or several`),
    doc: 'In that state, or one of several.',
  },
  keyPrefix: {
    type: 'string',
    defaultNote: 'any, or none',
    check: text('a beginning of keys'),
    doc: 'Whose key begins so.',
  },
  group: { type: 'string', defaultNote: 'any, or none', check: text('a group'), doc: 'Of that group.' },
  createdAfter: { type: 'Date', check: date(), doc: 'Made at that time or later.' },
  createdBefore: { type: 'Date', check: date(), doc: 'Made before that time.' },
  metadata: {
    type: 'Record<string, string>',
    check: metadata,
    doc: 'With each of these entries in their metadata.',
  },
  limit: {
    type: 'number',
    default: 50,
    check: whole(1, mostListed),
    doc: `How many at most, 1 to ${mostListed}.`,
  },
  cursor: {
    type: 'string',
    defaultNote: 'the newest run',
    check: custom((value) => typeof value === 'string', 'the cursor of a page'),
    doc: 'Where to go on: the `cursor` of the page before.',
  },
}

const readOptions = createOptionReader(listFilter, ArgumentError)

/** Throws ArgumentError. */
export function parseListFilter(given: ListFilter = {}): ReadListFilter {
  return readOptions(given, 'list')
}
