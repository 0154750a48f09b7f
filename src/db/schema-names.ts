import { createHash } from 'node:crypto'
import { ConfigError } from '../model/errors.ts'

/** The names SQL is rendered with. `schema` and `queue` are raw, the quoted forms are safe to put into SQL. */
export interface SchemaNames {
  readonly schema: string
  readonly queue: string
  readonly quoted: string
  readonly quotedQueue: string
  readonly channel: string
}

const defaultSchema = 'holdfast'

const queueSuffix = '_queue'
const longestName = 63 - queueSuffix.length

export function schemaNames(schema: string = defaultSchema): SchemaNames {
  const problem =
    schema === ''
      ? 'is empty'
      : Buffer.byteLength(schema) > longestName
        ? `is longer than ${longestName} bytes`
        : schema.includes('\0')
          ? 'holds U+0000'
          : schema.startsWith('pg_')
            ? 'begins with "pg_", which Postgres keeps for itself'
            : undefined
  if (problem) {
    throw new ConfigError(`The schema name ${JSON.stringify(schema)} ${problem}.`, {
      field: 'schema',
      remedy: `Give a name such as "${defaultSchema}".`,
    })
  }
  const queue = schema + queueSuffix
  const digest = createHash('sha256').update(schema).digest('hex').slice(0, 16)
  return {
    schema,
    queue,
    quoted: quoteIdentifier(schema),
    quotedQueue: quoteIdentifier(queue),
    channel: schema === defaultSchema ? defaultSchema : `${defaultSchema}_${digest}`,
  }
}

/**
 * Puts the real names into SQL written with `holdfast.`, `holdfast_queue.` and `:channel`. In one pass: a real name may
 * hold such a text itself.
 */
export function renderSql(sql: string, names: SchemaNames): string {
  const real: Readonly<Record<string, string>> = {
    'holdfast.': `${names.quoted}.`,
    'holdfast_queue.': `${names.quotedQueue}.`,
    ':channel': quoteLiteral(names.channel),
  }
  return sql.replace(/\bholdfast(?:_queue)?\.|:channel\b/g, (written) => real[written] ?? written)
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
