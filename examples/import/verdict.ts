import type { Check } from '../support/print.ts'
import type { Contents } from './write-csv.ts'

interface Report {
  readonly written: Contents
  readonly imported: Contents
  readonly processes: readonly { readonly count: number }[]
  /** What the run answered. */
  readonly rows: number
}

/** What the example must have shown. One claim that does not hold makes it exit with 1. */
export function judge({ written, imported, processes, rows }: Report): Check[] {
  return [
    {
      holds: processes.length === 2,
      claim: 'The worker was killed midway, and another went on',
      found: processes.map(({ count }) => `${count} rows`).join(', then '),
    },
    {
      holds: imported.count === written.count && rows === written.count,
      claim: 'No row is lost, and none is there twice',
      found: `${imported.count} rows`,
    },
    {
      holds: imported.checksum === written.checksum,
      claim: 'What is in the table is what was in the file',
      found: imported.checksum,
    },
  ]
}
