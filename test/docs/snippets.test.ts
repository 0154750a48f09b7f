import { mkdtemp, rm } from 'node:fs/promises'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatWithOptions } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Client, Workflow } from '../../src/index.ts'
import { useDatabase, type TestDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { blocks, type Block } from './pages.ts'
import { placeSnippets, type Placed } from './place-snippets.ts'
import { runSql } from './run-sql.ts'
import { typeCheck } from './type-check.ts'

const snippets = blocks.filter((block) => block.language === 'ts')
const toRun = blocks.filter((block) => block.isRun && ['ts', 'sql'].includes(block.language))
let placed: readonly Placed[] = []
let folder: string

const isElsewhere = isPointless('odd-schema', 'the pages use the default schema, and tables of their own')

beforeAll(async () => {
  folder = realpathSync(await mkdtemp(join(tmpdir(), 'holdfast-docs-')))
  placed = await placeSnippets(folder, snippets)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the pages have snippets, and some are run', () => {
  expect(snippets.length).toBeGreaterThan(20)
  expect(snippets.filter((block) => block.isRun).length).toBeGreaterThan(10)
})

// The libraries that the pages use have a great many types.
test('every TypeScript snippet type-checks', { timeout: 120_000 }, () => {
  expect(typeCheck(placed)).toEqual([])
})

const pagesToRun = [...new Set(toRun.map(({ page }) => page))]

describe.skipIf(isElsewhere).each(pagesToRun)('what %s shows comes out as it says', (page) => {
  const database = useDatabase()
  const listeners = process.listeners('SIGTERM')

  afterEach(() => {
    for (const added of process.listeners('SIGTERM')) {
      if (!listeners.includes(added)) process.off('SIGTERM', added)
    }
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  test.each(toRun.filter((block) => block.page === page).map((block) => [block.line, block] as const))(
    'line %i',
    async (_, block) => {
      if (block.language === 'sql') return await runSql(database.connectionString, block)
      const said = expectedLines(block)
      expect(said, 'A snippet that is run says what it prints.').not.toEqual([])
      vi.stubEnv('DATABASE_URL', database.connectionString)
      vi.stubGlobal('client', clientWithWorkers(database))
      vi.stubGlobal('pool', database.pool)
      const lines: string[] = []
      vi.spyOn(console, 'log').mockImplementation((...values) => {
        lines.push(formatWithOptions({ breakLength: Infinity, compact: true }, ...(values as [unknown])))
      })
      // What the pages' stand-ins say is for their reader.
      vi.spyOn(console, 'info').mockImplementation(() => undefined)
      await import(/* @vite-ignore */ fileOf(block))
      expect(lines).toEqual(said)
    },
  )
})

function fileOf({ page, line }: Block): string {
  return placed.find((each) => each.page === page && each.line === line)?.file ?? ''
}

/** The comments behind its calls of `console.log`, in their order. */
function expectedLines({ content }: Block): string[] {
  return [...content.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, text]) => text ?? '')
}

/** A client for which every workflow it starts has a worker, as the pages ask their reader to imagine. */
function clientWithWorkers(database: TestDatabase): Client {
  const own = openClient(database)
  const seen = new Map<Workflow, Promise<unknown>>()
  return new Proxy(own, {
    get: (_, name) => {
      if (name !== 'start' && name !== 'startMany') {
        const member: unknown = Reflect.get(own, name)
        return typeof member === 'function' ? member.bind(own) : member
      }
      const call = own[name].bind(own) as (workflow: Workflow, ...rest: unknown[]) => Promise<unknown>
      return async (workflow: Workflow, ...rest: unknown[]) => {
        if (!seen.has(workflow)) seen.set(workflow, startWorker(database, { workflows: [workflow] }))
        await seen.get(workflow)
        return await call(workflow, ...rest)
      }
    },
  })
}
