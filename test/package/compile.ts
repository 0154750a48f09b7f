import { join } from 'node:path'
import ts from 'typescript'

/**
 * Compiles files of a project into its folder `out`, and answers what is wrong with them or with the types that this
 * package gave them. Other packages' types are read and not checked.
 */
export function compile(folder: string, files: readonly string[], chosen: ts.CompilerOptions): string[] {
  const program = ts.createProgram({
    rootNames: files.map((file) => join(folder, file)),
    options: {
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts'],
      types: ['node'],
      typeRoots: [join(folder, 'node_modules/@types')],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      rewriteRelativeImportExtensions: true,
      rootDir: folder,
      outDir: join(folder, 'out'),
      ...chosen,
    },
  })
  const ours = program.getSourceFiles().filter(({ fileName }) => /^(?!.*\/node_modules\/(?!holdfast\/))/.test(fileName))
  const problems = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...ours.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ]
  if (chosen.noEmit !== true) program.emit()
  return problems.map(
    ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  )
}
