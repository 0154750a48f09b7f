import ts from 'typescript'

export function parse(/** @type {string} */ path, /** @type {string} */ text) {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
}

export function lineOf(/** @type {ts.SourceFile} */ source, /** @type {ts.Node} */ node) {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
}

export function* walk(/** @type {ts.Node} */ node) {
  yield node
  const children = []
  ts.forEachChild(node, (child) => void children.push(child))
  for (const child of children) yield* walk(child)
}

/** The exports of a module that imports nothing, as they are at run time. */
export async function evaluate(/** @type {string} */ text) {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  })
  return await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
}

/**
 * The titles of the tests of one file: `test('…')`, `it.each(…)('…')`, `` test(`…`) ``. A template's holes read as `…`.
 * Tests that never run (`skip`, `todo`) are left out: they prove nothing.
 */
export function testTitles(/** @type {string} */ path, /** @type {string} */ text) {
  const source = parse(path, text)
  const titles = []
  for (const node of walk(source)) {
    if (!ts.isCallExpression(node)) continue
    const names = calleeNames(node.expression)
    if (names[0] !== 'test' && names[0] !== 'it') continue
    if (names.includes('skip') || names.includes('todo')) continue
    const title = titleOf(node.arguments[0])
    if (title !== undefined) titles.push({ title, line: lineOf(source, node) })
  }
  return titles
}

/** `it.concurrent.each(table)` -> ['it', 'concurrent', 'each']. */
function calleeNames(/** @type {ts.Expression} */ expression) {
  if (ts.isIdentifier(expression)) return [expression.text]
  if (ts.isPropertyAccessExpression(expression)) return [...calleeNames(expression.expression), expression.name.text]
  if (ts.isCallExpression(expression)) return calleeNames(expression.expression)
  if (ts.isTaggedTemplateExpression(expression)) return calleeNames(expression.tag)
  return []
}

function titleOf(/** @type {ts.Expression | undefined} */ argument) {
  if (argument === undefined) return undefined
  if (ts.isStringLiteralLike(argument)) return argument.text
  if (!ts.isTemplateExpression(argument)) return undefined
  return [argument.head.text, ...argument.templateSpans.map((span) => span.literal.text)].join('…')
}
