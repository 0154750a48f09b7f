import ts from 'typescript'
import { root } from './pages.ts'
import type { Placed } from './place-snippets.ts'

/** What the compiler has to say about the blocks, at their lines in the pages. One program checks them all. */
export function typeCheck(placed: readonly Placed[]): string[] {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root)
  const byFile = new Map(placed.map((block) => [block.file, block]))
  const program = ts.createProgram({
    rootNames: [...byFile.keys(), `${root}test/docs/ambient.d.ts`],
    options: {
      ...options,
      rewriteRelativeImportExtensions: false,
      typeRoots: [`${root}node_modules/@types`],
      // A snippet shows a call; that it does nothing with the answer is no mistake.
      noUnusedLocals: false,
      noUnusedParameters: false,
    },
  })
  return [...byFile].flatMap(([file, block]) => {
    const source = program.getSourceFile(file)
    if (!source) return [`${block.page}:${block.line} was not read`]
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((problem) => {
      const line = block.line + source.getLineAndCharacterOfPosition(problem.start ?? 0).line
      return `${block.page}:${line} ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`
    })
  })
}
