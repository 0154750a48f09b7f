import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidInputError, InvalidOutputError, InvalidSignalError } from '../model/errors.ts'
import type { SchemaIssue } from '../model/errors.ts'
import type { Schema } from '../model/schema.ts'
import type { Definition } from '../model/workflow.ts'

type Invalid = typeof InvalidInputError | typeof InvalidOutputError | typeof InvalidSignalError

/** The input as the handler gets it; without a schema, as it was given. Throws InvalidInputError. */
export function parseInput(definition: Pick<Definition, 'name' | 'input'>, value: unknown): Promise<unknown> {
  return parse(definition.input, value, `input of workflow '${definition.name}'`, 'input', InvalidInputError)
}

/** The output as `result` gives it; without a schema, as it was returned. Throws InvalidOutputError. */
export function parseOutput(definition: Pick<Definition, 'name' | 'output'>, value: unknown): Promise<unknown> {
  return parse(definition.output, value, `output of workflow '${definition.name}'`, 'output', InvalidOutputError)
}

/** A signal's payload, or a person's answer, as the handler gets it. Throws InvalidSignalError. */
export function parseSignal(schema: Schema | undefined, name: string, value: unknown): Promise<unknown> {
  return parse(schema, value, `payload of "${name}"`, 'payload', InvalidSignalError)
}

async function parse(
  schema: Schema | undefined,
  value: unknown,
  subject: string,
  field: string,
  invalid: Invalid,
): Promise<unknown> {
  if (schema === undefined) return value
  let result: StandardSchemaV1.Result<unknown>
  let issues: SchemaIssue[] | undefined
  try {
    result = await schema['~standard'].validate(value)
    issues = result.issues?.map(toIssue)
  } catch (cause) {
    const message = `the schema itself threw: ${messageOf(cause)}`
    throw new invalid(`The ${subject} could not be checked: ${message}.`, [{ path: '', message }], {
      field,
      remedy: 'Correct the schema, which should answer with issues instead.',
      cause,
    })
  }
  if (issues !== undefined) {
    throw new invalid(`The ${subject} does not fit its schema: ${summarize(issues)}.`, issues, { field })
  }
  return (result as StandardSchemaV1.SuccessResult<unknown>).value
}

function toIssue({ message, path = [] }: StandardSchemaV1.Issue): SchemaIssue {
  // not path.map: arktype's path is an Array of a class of its own, whose map does not start empty
  const segments = Array.from(path, (segment) => (typeof segment === 'object' ? segment.key : segment))
  return { path: formatPath(segments), message: String(message) }
}

/** `items[0].email`, as one would write it in code. */
function formatPath(segments: readonly PropertyKey[]): string {
  return segments
    .map((segment, index) => {
      if (typeof segment === 'string' && !/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(segment)) {
        return /^\d+$/.test(segment) ? `[${segment}]` : `[${JSON.stringify(segment)}]`
      }
      if (typeof segment !== 'string') return `[${String(segment)}]`
      return index === 0 ? segment : `.${segment}`
    })
    .join('')
}

const mostInMessage = 3

function summarize(issues: readonly SchemaIssue[]): string {
  const shown = issues
    .slice(0, mostInMessage)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  const more = issues.length > mostInMessage ? `, and ${issues.length - mostInMessage} more` : ''
  return `${shown.join('; ') || 'it names no issue'}${more}`
}

function messageOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : String(cause)
  } catch {
    return 'something that has no text'
  }
}
