import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { blocks, root } from './pages.ts'
import { homeOf, placeSnippets } from './place-snippets.ts'

const page = 'docs/testing.md'
const database = useDatabase()
const isShort = isPointless('statement-timeout', 'the page drops whole schemas, as its reader would')

interface Report {
  readonly testResults: readonly { assertionResults: readonly { title: string; status: string }[] }[]
}

test.skipIf(isShort)('the tests that a page shows pass', { timeout: 120_000 }, async () => {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), 'holdfast-docs-')))
  const shown = blocks.filter((block) => block.page === page && block.name !== undefined)
  await placeSnippets(folder, shown)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [`${root}node_modules/vitest/vitest.mjs`, 'run', '--reporter=json'],
    { cwd: homeOf(folder, page), env: { ...process.env, DATABASE_URL: database.connectionString } },
  ).catch((error: { stdout: string }) => error)
  const { testResults } = JSON.parse(stdout) as Report
  const all = testResults.flatMap(({ assertionResults }) => assertionResults)
  expect(all.filter(({ status }) => status !== 'passed')).toEqual([])
  expect(all.length).toBeGreaterThan(4)
  await rm(folder, { recursive: true })
})
