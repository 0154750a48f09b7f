/** One worker process. main.ts forks two of these and kills one. */
import { createWorker } from '../../src/index.ts'
import { importFile } from './import-file.ts'

const connectionString = process.env.DATABASE_URL
if (!connectionString) throw new Error('DATABASE_URL is not set: main.ts starts this file')

const worker = createWorker({
  connectionString,
  workflows: [importFile],
  handleSignals: true,
  logger: console,
})
// The parent is gone, in whatever way: nobody is left to tell us to stop.
process.once('disconnect', () => void worker.stop({ grace: 0 }))

await worker.start()
process.send?.('ready')
await worker.done
process.disconnect()
