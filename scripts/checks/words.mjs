import ts from 'typescript'
import { matches } from './support/repository.mjs'
import { codeOnly } from './support/sql-text.mjs'
import { lineOf, parse, walk } from './support/typescript-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

/**
 * Other systems' names for our things. Only whole identifiers count; prose may say what it likes, and the words of the
 * queue are its own: src/queue speaks of jobs and tasks, and so does SQL behind `holdfast_queue.`.
 *
 * @type {{ word: RegExp, say: string, isQueueWord?: true }[]}
 */
const foreign = [
  { word: /^(?:job|task)(?:_?ids?|_?names?|_?keys?|_?types?|s)?$/i, say: 'run, workflow or ticket', isQueueWord: true },
  { word: /^execution_?ids?$/i, say: 'run' },
  { word: /^activit(?:y|ies)(?:_?(?:id|name))?$/i, say: 'step' },
  { word: /^(?:step_?)?checkpoints?(?:_?(?:id|name))?$/i, say: 'memo' },
  { word: /^partitions?(?:_?keys?)?$/i, say: 'group' },
  { word: /^throttles?$/i, say: 'limit' },
]

/** Declared, never merely used: what a library calls its things is not ours to choose. */
function isDeclared(/** @type {ts.Identifier} */ node) {
  const { parent } = node
  // `{ jobId: run }` in a pattern, and an imported name, are theirs; the local name beside it is ours.
  if (ts.isBindingElement(parent)) return parent.name === node && parent.propertyName !== undefined
  if (ts.isImportSpecifier(parent)) return parent.name === node && parent.propertyName !== undefined
  return 'name' in parent && parent.name === node && !ts.isPropertyAccessExpression(parent)
}

/** One word for one thing, in code, SQL and docs. */
export function words(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  const report = (
    /** @type {string} */ file,
    /** @type {number} */ line,
    /** @type {string} */ name,
    isQueue = false,
  ) => {
    const hit = foreign.find(({ word, isQueueWord }) => word.test(name) && !(isQueue && isQueueWord))
    if (hit) problems.push({ file, line, what: `'${name}' is not our word.`, remedy: `Say ${hit.say}.` })
  }

  for (const file of paths) {
    if (/^src\/.*\.ts$/.test(file)) {
      const source = parse(file, read(file))
      for (const node of walk(source)) {
        if (ts.isIdentifier(node) && isDeclared(node)) {
          report(file, lineOf(source, node), node.text, file.startsWith('src/queue/'))
        }
      }
    } else if (/^sql\/.*\.sql$/.test(file)) {
      // `partition` alone is a word of SQL itself, and what follows a dot was named where it was declared.
      const code = codeOnly(read(file)).replace(/\bpartition\s+(?:by|of)\b/gi, (text) => text.replace(/\S/g, ' '))
      for (const { match, line } of matches(code, /(?<![\w.])[a-z_]\w*(?!\w|\s*\.)/gi)) {
        report(file, line, match[0].replace(/^_/, ''))
      }
    } else if (/^(?:docs\/.*|README)\.md$/.test(file)) {
      for (const { match, line } of matches(read(file), /`[^`\n]+`/g)) {
        for (const [name] of match[0].matchAll(
          /\b(?:job|task|execution|activity|checkpoint|partition)_?(?:id|key)\b/gi,
        ))
          report(file, line, name)
      }
    }
  }
  return problems
}
