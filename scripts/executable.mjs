// npm links a bin to the built file: it must be executable in the clone too.
import { chmodSync } from 'node:fs'

chmodSync(new URL('../dist/cli/bin.js', import.meta.url), 0o755)
