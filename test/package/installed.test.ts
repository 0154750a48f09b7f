import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocks, pages, root } from '../docs/pages.ts'
import { emptyDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { compile } from './compile.ts'
import { Project } from './project.ts'

/** The README's first example: its workflow, what starts it, and the packages to install beside this one. */
const readme = blocks.filter(({ page, language }) => page === 'README.md' && language === 'ts')
const workflows = readme.find(({ name }) => name === 'workflows.ts')?.content ?? ''
const main = readme.find(({ isRun }) => isRun)?.content ?? ''
const text = pages.find(({ path }) => path === 'README.md')?.text ?? ''
const beside = /^npm install \S+\.tgz (.+?) *#/m.exec(text)?.[1]?.split(' ') ?? []

const adapters = `import { fromPostgresJs, type PostgresJsLike } from 'holdfast/adapters'
import type { Queryable } from 'holdfast'

const sql: PostgresJsLike = { unsafe: (asked) => Promise.resolve([asked]) }
const tx: Queryable = fromPostgresJs(sql)
console.log((await tx.query('select 1')).rows[0]) // select 1
`

const testing = `import { defineWorkflow } from 'holdfast'
import { createTestRuntime, type TestRuntime } from 'holdfast/testing'

const seven = defineWorkflow({ name: 'seven', handler: (_, run) => run.step('seven', () => 7) })
const runtime: TestRuntime = await createTestRuntime({ workflows: [seven] })
const started = await runtime.client.start(seven, undefined, { delay: '30d' })
await runtime.advance('31d')
console.log(await runtime.client.result(started)) // 7
await runtime.close()
`

const sources = { workflows, main, adapters, testing }

const isElsewhere = isPointless('odd-schema', 'the README uses the default schema, and a table of its own')

describe.skipIf(isElsewhere)('the package, installed into an empty project', () => {
  const project = new Project()
  let problems: string[]

  beforeAll(() => {
    project.install(beside)
    for (const [name, content] of Object.entries(sources)) {
      project.write(`${name}.ts`, content)
      project.write(`${name}.cts`, /^export /m.test(content) ? content : asRequired(content))
    }
    const files = Object.keys(sources).flatMap((name) => [`${name}.ts`, `${name}.cts`])
    problems = compile(project.folder, files, { module: ts.ModuleKind.NodeNext })
  }, 180_000)
  afterAll(() => project.remove())

  test('has types that fit the README, for whoever imports and whoever requires', () => {
    expect(problems).toEqual([])
  })

  test('has them for a bundler too', () => {
    const files = Object.keys(sources).map((name) => `${name}.ts`)
    const moduleResolution = ts.ModuleResolutionKind.Bundler
    expect(compile(project.folder, files, { module: ts.ModuleKind.ESNext, moduleResolution, noEmit: true })).toEqual([])
  })

  describe.each([
    ["the README's first example", 'main'],
    ['holdfast/adapters', 'adapters'],
    ['holdfast/testing', 'testing'],
  ] as const)('%s', (_, name) => {
    test.each([
      [24, 'TypeScript that imports', `${name}.ts`],
      [20, 'TypeScript that imports, compiled to JavaScript', `out/${name}.js`],
      [24, 'TypeScript that imports, compiled to JavaScript', `out/${name}.js`],
      [20, 'TypeScript that requires, compiled to JavaScript', `out/${name}.cjs`],
      [24, 'TypeScript that requires, compiled to JavaScript', `out/${name}.cjs`],
    ])('runs on Node %i: %s', async (node, _how, file) => {
      const database = await emptyDatabase()
      try {
        const printed = await project.run(node, file, { DATABASE_URL: database.connectionString })
        const promised = promisedBy(sources[name])
        expect(promised).not.toEqual([])
        expect(printed).toEqual(expect.arrayContaining(promised))
      } finally {
        await database.drop()
      }
    })
  })

  test('brings its command along, under both names', () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }
    expect(project.npx('workflow', '--version')).toBe(version)
    expect(project.npx('holdfast', '--help')).toContain('Usage: workflow')
  })
})

/** The same for a file that requires: its own parts have another ending there, and no `await` stands outside a function. */
function asRequired(content: string): string {
  const lines = content.replaceAll(/(?<=from '\.\/\w+)\.ts'/g, ".cts'").split('\n')
  const isImport = (line: string): boolean => line.startsWith('import ')
  const body = lines.filter((line) => !isImport(line))
  return [...lines.filter(isImport), 'void (async () => {', ...body, '})()', ''].join('\n')
}

/** The comments behind its calls of `console.log`. */
function promisedBy(content: string): string[] {
  return [...content.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, line]) => line ?? '')
}
