// Loads the bench's TypeScript without a module hook, so that what is measured runs exactly as shipped.
import { createJiti } from 'jiti'

await createJiti(import.meta.url).import('./main.ts')
