import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'

/** What the table must hold once the file is imported. */
export interface Contents {
  readonly count: number
  readonly checksum: string
}

const names = ['Ada', 'Grace', 'Müller, Anna', 'Jean "Jo" Roe', 'two\nlines', 'Øystein']

/** Writes the same file each time, with all that a CSV file may hold, and answers what is in it. */
export async function writeCsv(path: string, count: number): Promise<Contents> {
  const file = createWriteStream(path)
  const hash = createHash('md5')
  file.write('id,name,cents\n')
  for (let id = 1; id <= count; id += 1) {
    const name = names[id % names.length] ?? ''
    const cents = (id * 7919) % 100_000
    hash.update(`${id}|${name}|${cents};`)
    if (!file.write(`${id},"${name.replaceAll('"', '""')}",${cents}\n`)) await once(file, 'drain')
  }
  file.end()
  await finished(file)
  return { count, checksum: hash.digest('hex') }
}
