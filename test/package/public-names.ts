import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { root } from '../docs/pages.ts'

/** Something that users can name: an export, or a method of what they call. */
export interface PublicName {
  /** Such as `Client.start`. */
  readonly path: string
  readonly name: string
  readonly doc: string
}

/** Whose methods users call; the other interfaces are what they hand us, or plain values. */
const called = new Set(['Client', 'Run', 'TestRuntime', 'Worker'])

const entries = ['src/index.ts', 'src/adapters.ts', 'src/otel.ts', 'src/testing.ts'].map((path) => root + path)
const typeTests = readdirSync(`${root}test/types`)
  .filter((file) => file.endsWith('.test-d.ts'))
  .map((file) => `${root}test/types/${file}`)

const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path))
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root)
const program = ts.createProgram([...entries, ...typeTests], options)
const checker = program.getTypeChecker()

export const publicNames: readonly PublicName[] = entries.flatMap((entry) =>
  exportsOf(entry).flatMap((symbol) => [
    describe(symbol, symbol.name),
    ...methodsOf(symbol).map((method) => describe(method, `${symbol.name}.${method.name}`)),
  ]),
)

/** Every name that stands in a type test. */
export const testedNames: ReadonlySet<string> = new Set(typeTests.flatMap((file) => [...identifiersOf(source(file))]))

function source(file: string): ts.SourceFile {
  const found = program.getSourceFile(file)
  if (!found) throw new Error(`${file} was not read.`)
  return found
}

function exportsOf(entry: string): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(source(entry))
  if (!module) throw new Error(`${entry} exports nothing.`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
}

function methodsOf(symbol: ts.Symbol): ts.Symbol[] {
  if (!called.has(symbol.name)) return []
  return [...(symbol.members?.values() ?? [])].filter(
    ({ name, flags }) => flags & ts.SymbolFlags.Method && !name.startsWith('#'),
  )
}

function describe(symbol: ts.Symbol, path: string): PublicName {
  const doc = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  return { path, name: symbol.name, doc }
}

function* identifiersOf(node: ts.Node): Generator<string> {
  if (ts.isIdentifier(node)) yield node.text
  for (const child of node.getChildren()) yield* identifiersOf(child)
}
