import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { writeChunk } from './rows.ts'
import { splitFile } from './split-file.ts'

const rowsPerChunk = 1_000

/**
 * A large file into a table. A chunk's rows and the memo that it is done commit together: whoever goes on after a crash goes on
 * with the first chunk that is not there, and writes none again.
 */
export const importFile = defineWorkflow({
  name: 'import file',
  // Every worker must be able to read it: a shared disk here; an object storage is read by ranges just so.
  input: z.object({ path: z.string() }),
  handler: async ({ path }, run) => {
    const chunks = await run.step('split', () => splitFile(path, rowsPerChunk))
    let done = 0
    const counts = await run.map(
      'chunks',
      chunks,
      async (chunk) => {
        const count = await run.transaction('write', (tx) => writeChunk(tx, path, chunk))
        run.progress({ done: (done += 1), of: chunks.length })
        return count
      },
      { concurrency: 4 },
    )
    return { rows: counts.reduce((sum, count) => sum + count, 0) }
  },
})
