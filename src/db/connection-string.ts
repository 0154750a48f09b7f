import pg from 'pg'
import { ConfigError } from '../model/errors.ts'

/** A URL, or the folder of a Unix socket. */
const addresses = /^(?:postgres(?:ql)?:\/\/|socket:|\/)/i

export function readConnectionString(connectionString: string | undefined, applicationName: string): pg.ClientConfig {
  if (connectionString === undefined || connectionString === '') {
    throw new ConfigError('No database was given.', {
      field: 'connectionString',
      remedy: 'Pass connectionString or pool, or set DATABASE_URL.',
    })
  }
  const unreadable = (cause?: unknown): ConfigError =>
    new ConfigError('The connection string cannot be read.', {
      field: 'connectionString',
      remedy: 'It looks like postgres://user:password@host:5432/database.',
      cause,
    })
  // pg takes any other text for the name of a database on a host named base.
  if (!addresses.test(connectionString)) throw unreadable()
  try {
    // Reading it here makes a malformed one a typed error before the first query.
    void new pg.Client({ connectionString })
  } catch (error) {
    throw unreadable(error)
  }
  return { connectionString, application_name: applicationName, keepAlive: true }
}
