import { ConfigError } from '../model/errors.ts'
import { clientOptions } from './client-options.ts'
import type { ReadClientOptions, ReadConnectionOptions } from './client-options.ts'
import { createOptionReader } from './option-reader.ts'

const readOptions = createOptionReader(clientOptions, ConfigError)

/** Client options with defaults filled in. Whether there is a connection at all is for the caller to ask. Throws ConfigError. */
export function parseClientOptions(given: object | undefined): ReadClientOptions {
  const options = readOptions(given === undefined ? {} : given, 'createClient')
  refuseTwoConnections('createClient', options)
  return options
}

export function refuseTwoConnections(
  subject: string,
  { connectionString, pool }: Pick<ReadConnectionOptions, 'connectionString' | 'pool'>,
): void {
  if (connectionString === undefined || pool === undefined) return
  throw new ConfigError(`${subject}: pool and connectionString contradict each other.`, {
    field: 'connectionString',
    remedy: 'Give one of them.',
  })
}
