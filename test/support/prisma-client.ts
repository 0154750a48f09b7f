import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Generates Prisma's client from a schema into a folder, as `generated/client.ts`. */
export function generatePrismaClient(schema: URL, folder: string): void {
  mkdirSync(folder, { recursive: true })
  cpSync(schema, join(folder, 'schema.prisma'))
  const cli = createRequire(import.meta.url).resolve('prisma/build/index.js')
  execFileSync(process.execPath, [cli, 'generate', '--schema', join(folder, 'schema.prisma')], {
    stdio: 'pipe',
    // The engine that it would download has no part in that.
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  })
}
