import { createWorker } from '../../src/index.ts'
import { throwing } from './throwing.ts'

/** A worker in a process of its own, which has nothing that would keep it alive after an error nobody handled. */

const worker = createWorker({ connectionString: process.argv[2] ?? '', workflows: [throwing], migrate: 'off' })
await worker.start()
process.send?.('started')
