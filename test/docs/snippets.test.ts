import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatWithOptions } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Client, Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { blocks, root, type Block } from './pages.ts'
import { typeCheck, type Placed } from './type-check.ts'

const snippets = blocks.filter((block) => block.language === 'ts')
const placed: Placed[] = []
const database = useDatabase()
let folder: string

const isElsewhere = isPointless('odd-schema', 'the pages use the default schema, and tables of their own')

beforeAll(async () => {
  folder = realpathSync(await mkdtemp(join(tmpdir(), 'holdfast-docs-')))
  await symlink(`${root}node_modules`, join(folder, 'node_modules'), 'junction')
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const block of snippets) {
    // Blocks of a page lie beside each other, so that they can import one another by name.
    const home = join(folder, block.page.replaceAll(/\W/g, '-'))
    const file = join(home, block.name ?? `line-${block.line}.ts`)
    await mkdir(home, { recursive: true })
    await writeFile(file, asModule(block))
    placed.push({ ...block, file })
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the pages have snippets, and some are run', () => {
  expect(snippets.length).toBeGreaterThan(20)
  expect(snippets.filter((block) => block.isRun).length).toBeGreaterThan(10)
})

test('every TypeScript snippet type-checks', () => {
  expect(typeCheck(placed)).toEqual([])
})

describe.skipIf(isElsewhere)('a snippet that is run prints what it says', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  test.each(snippets.filter((block) => block.isRun).map((block) => [`${block.page}:${block.line}`, block] as const))(
    '%s',
    async (_, block) => {
      const said = expectedLines(block)
      expect(said, 'A snippet that is run says what it prints.').not.toEqual([])
      vi.stubEnv('DATABASE_URL', database.connectionString)
      vi.stubGlobal('client', clientWithWorkers())
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

/** The name of the package leads to its source, and the block is a module even if it imports nothing. Lines stay. */
function asModule({ content }: Block): string {
  const text = content.replaceAll(/(?<=\bfrom )'holdfast'/g, `'${root}src/index.ts'`)
  return /^(?:import|export)\b/m.test(text) ? text : `export {};${text}`
}

function fileOf({ page, line }: Block): string {
  return placed.find((each) => each.page === page && each.line === line)?.file ?? ''
}

/** The comments behind its calls of `console.log`, in their order. */
function expectedLines({ content }: Block): string[] {
  return [...content.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, text]) => text ?? '')
}

/** A client for which every workflow it starts has a worker, as the pages ask their reader to imagine. */
function clientWithWorkers(): Client {
  const own = openClient(database)
  const seen = new Map<Workflow, Promise<unknown>>()
  return new Proxy(own, {
    get: (_, name) => {
      if (name !== 'start') {
        const member: unknown = Reflect.get(own, name)
        return typeof member === 'function' ? member.bind(own) : member
      }
      return async (workflow: Workflow, ...rest: [unknown, object?]) => {
        if (!seen.has(workflow)) seen.set(workflow, startWorker(database, { workflows: [workflow] }))
        await seen.get(workflow)
        return await own.start(workflow, ...rest)
      }
    },
  })
}
