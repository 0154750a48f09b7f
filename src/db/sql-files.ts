import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

export interface SqlFile {
  readonly name: string
  readonly text: string
}

export interface Migration extends SqlFile {
  readonly id: number
  readonly checksum: string
  /** Older releases must stop using the schema. Said by `-- breaking` in the first line. */
  readonly isBreaking: boolean
}

// src/db and dist/db are equally deep, so one relative address serves both.
const root = new URL('../../sql/', import.meta.url)

export function migrationFiles(): Migration[] {
  return read('migrations').map((file) => ({
    ...file,
    id: Number.parseInt(file.name, 10),
    checksum: checksum([file]),
    isBreaking: file.text.startsWith('-- breaking'),
  }))
}

export function functionFiles(): SqlFile[] {
  return read('functions')
}

/** What `holdfast/testing` puts on top, in databases of its own. */
export function testingFiles(): SqlFile[] {
  return read('testing')
}

export function checksum(files: readonly SqlFile[]): string {
  const hash = createHash('sha256')
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`)
  return hash.digest('hex')
}

function read(folder: string): SqlFile[] {
  return readdirSync(new URL(`${folder}/`, root))
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => ({
      name: name.slice(0, -'.sql'.length),
      text: readFileSync(new URL(`${folder}/${name}`, root), 'utf8').replaceAll('\r\n', '\n'),
    }))
}
