// Loads the TypeScript sources without a module hook: one would change how the queue's own configuration is loaded.
import { createJiti } from 'jiti'

await createJiti(import.meta.url).import('./worker-process.ts')
