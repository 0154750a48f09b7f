// Loads the worker's TypeScript without a module hook, so that the libraries being measured run exactly as shipped.
import { createJiti } from 'jiti'

await createJiti(import.meta.url).import('./worker-process.ts')
