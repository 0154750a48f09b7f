import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../../model/errors.ts'

/** Whom Postgres runs as when that cannot be the user who runs Node: it refuses to run as root. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** The account of `nobody` for root, undefined for everybody else. */
export async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const line = (await readFile('/etc/passwd', 'utf8')).split('\n').find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined || gid === undefined) {
    throw new ConfigError('Postgres does not run as root, and this system has no user nobody to run it as.', {
      remedy: 'Run as another user, or set DATABASE_URL.',
    })
  }
  return { uid: Number(uid), gid: Number(gid) }
}

/** Whether `account` may enter `folder` and every folder above it. */
export async function canEnter(account: Account | undefined, folder: string): Promise<boolean> {
  if (!account) return true
  const { uid, gid, mode } = await stat(folder)
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
  if ((mode & bit) === 0) return false
  return dirname(folder) === folder || canEnter(account, dirname(folder))
}

/** What every process of the server gets: plain messages, and none of the caller's own PG* settings. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name))
  return { ...Object.fromEntries(inherited), LC_ALL: 'C' }
}
