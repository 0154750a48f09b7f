// Loads the suites' TypeScript without a module hook, so that the workers' sources run as they do in the other tests.
import { createJiti } from 'jiti'

await createJiti(import.meta.url).import('./main.ts')
