import { z } from 'zod'
import { encode } from '../model/codec.ts'
import { HoldfastError } from '../model/errors.ts'
import type { ResolvedSchedule } from '../model/workflow.ts'
import { duration, oneOf, shape } from './checks.ts'
import { readCron } from './schedule-instants.ts'

const shortestMs = 1_000

interface Given {
  readonly cron?: string | undefined
  readonly every?: number | undefined
  readonly zone?: string | undefined
  readonly catchUp?: ResolvedSchedule['catchUp'] | undefined
  readonly overlap?: ResolvedSchedule['overlap'] | undefined
  readonly input?: unknown
}

export function schedule(field: string): z.ZodType<ResolvedSchedule> {
  const every = duration(shortestMs)(`${field}.every`).refine(Number.isInteger, 'whole milliseconds')
  return shape(
    {
      cron: z.string("a cron expression, such as '0 9 * * 1-5'").optional(),
      every: every.optional(),
      zone: z.custom<string>(isZone, "the name of a time zone, such as 'Europe/Berlin'").optional(),
      catchUp: oneOf(['none', 'one', 'all'])(`${field}.catchUp`).optional(),
      overlap: oneOf(['skip', 'queue', 'allow'])(`${field}.overlap`).optional(),
      input: z.unknown().optional(),
    },
    '{ cron } or { every }, with zone, catchUp, overlap and input',
  ).transform((given: Given, context): ResolvedSchedule => {
    const wrong = whatIsWrong(given)
    if (wrong) {
      const [path, message] = wrong
      const input = path.length === 0 ? given : given[path[0] as keyof Given]
      context.issues.push({ code: 'custom', input, path, message })
      return z.NEVER
    }
    const { json, types } = encode(given.input, `${field}.input`)
    return Object.freeze({
      cron: given.cron,
      zone: given.zone ?? 'UTC',
      everyMs: given.every,
      catchUp: given.catchUp ?? 'one',
      overlap: given.overlap ?? 'skip',
      inputJson: json,
      inputTypes: types,
    })
  })
}

/** Where, and what to give instead; undefined: nothing. */
function whatIsWrong({ cron, every, zone, catchUp, overlap, input }: Given): [string[], string] | undefined {
  if ((cron === undefined) === (every === undefined)) return [[], 'either cron or every']
  if (every !== undefined && zone !== undefined) return [['zone'], 'a zone only with cron: every counts from 1970, UTC']
  // Under any other rule the first of the missed ones would hold off the rest.
  if (catchUp === 'all' && overlap !== 'allow') return [['overlap'], "overlap: 'allow' with catchUp: 'all'"]
  const problem = cron === undefined ? undefined : cronProblem(cron, zone ?? 'UTC')
  if (problem !== undefined) return [['cron'], problem]
  try {
    encode(input, 'input')
    return undefined
  } catch (error) {
    return [['input'], `what can be stored: ${error instanceof HoldfastError ? error.message : String(error)}`]
  }
}

function cronProblem(cron: string, zone: string): string | undefined {
  const expected = "a cron expression of five fields, or of six with the seconds first, such as '0 9 * * 1-5'"
  try {
    const read = readCron(cron, zone)
    // A date is read as well, and comes once.
    if (read.getPattern() === undefined) return expected
    return read.nextRun(new Date(0)) === null ? 'a cron expression whose time comes at some date' : undefined
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    return `${expected} (${said.replace(/\.$/, '')})`
  }
}

function isZone(value: unknown): boolean {
  if (typeof value !== 'string' || !/^[A-Za-z]/.test(value)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: value })
    return true
  } catch {
    return false
  }
}
