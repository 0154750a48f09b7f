import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Address } from './database.ts'

/** The folders in which programs look for psql: PATH, and where the system's Postgres has its own. */
export const pathWithPsql: string = [process.env['PATH'], serverFolder()].filter(Boolean).join(delimiter)

if (!pathWithPsql.split(delimiter).some((folder) => existsSync(join(folder, 'psql')))) {
  throw new Error('psql is not there. Install the client of Postgres, such as the package postgresql-client.')
}

/** What psql prints for one command: rows without a frame. */
export async function psql({ connectionString }: Address, command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('psql', [connectionString, '-X', '-q', '-A', '-t', '-c', command], {
    env: { ...process.env, PATH: pathWithPsql },
  })
  return stdout
}

function serverFolder(): string | undefined {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
