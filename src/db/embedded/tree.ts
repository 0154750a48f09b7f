import { createHash } from 'node:crypto'
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'

interface Link {
  readonly source: string
  readonly target: string
}

/**
 * Creates the links that `pg-symlinks.json` lists: npm packages cannot hold links, and the package's install script,
 * which makes them, does not run everywhere. False when the tree is not ours to write to.
 */
export async function createLinks(native: string): Promise<boolean> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(listed) as Link[]) {
    const place = join(native, '..', target)
    try {
      await symlink(relative(dirname(target), source), place)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      if (!(await exists(place))) return false
    }
  }
  return true
}

/**
 * A copy of the tree that every user can read, in the temp folder: made once for each state of the source. It is made
 * aside and renamed into place, so that nobody meets half a copy and the first of several makers wins.
 */
export async function copyTree(native: string): Promise<string> {
  const { mtimeMs, size } = await stat(join(native, 'bin', 'postgres'))
  const stamp = createHash('sha256').update(`${native}\0${mtimeMs}\0${size}`).digest('hex').slice(0, 16)
  const place = join(tmpdir(), `holdfast-binaries-${process.getuid?.() ?? 'user'}-${stamp}`)
  if (await isCompleteCopy(native, place)) return place

  const aside = await mkdtemp(`${place}-`)
  try {
    await cp(native, join(aside, basename(native)), { recursive: true, verbatimSymlinks: true })
    await createLinks(join(aside, basename(native)))
    await makeReadable(aside)
    return await moveInto(native, join(aside, basename(native)), place)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function moveInto(native: string, copy: string, place: string): Promise<string> {
  try {
    await rename(copy, place)
  } catch {
    if (await isCompleteCopy(native, place)) return place
    // A cleaner of the temp folder took a part of the old copy.
    await rm(place, { recursive: true, force: true })
    await rename(copy, place)
  }
  return place
}

/** The copy has all that the source has, and no other user could have put it there. */
async function isCompleteCopy(native: string, place: string): Promise<boolean> {
  const state = await lstat(place).catch(() => undefined)
  if (!state?.isDirectory() || (process.getuid && state.uid !== process.getuid())) return false
  const copied = new Set(await readdir(place, { recursive: true }))
  return (await readdir(native, { recursive: true })).every((name) => copied.has(name))
}

async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadable(path)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
