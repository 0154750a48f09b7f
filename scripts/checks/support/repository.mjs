import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * What a check sees: every file that is, or is about to be, under version control.
 *
 * @typedef {{ paths: readonly string[], read(path: string): string }} Repository
 * @typedef {{ file: string, line: number, what: string, remedy: string }} Problem
 */

/** @returns {Repository} */
export function openRepository(/** @type {URL} */ url) {
  const root = fileURLToPath(url)
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const paths = [...new Set(listed.split('\0').filter(Boolean))]
    .filter((path) => existsSync(join(root, path)))
    .toSorted()
  return { paths, read: (path) => readFileSync(join(root, path), 'utf8') }
}

export function lineAt(/** @type {string} */ text, /** @type {number} */ index) {
  return text.slice(0, index).split('\n').length
}

/** Every match of a pattern, with its line. */
export function* matches(/** @type {string} */ text, /** @type {RegExp} */ pattern) {
  for (const match of text.matchAll(pattern)) yield { match, line: lineAt(text, match.index) }
}

/** The rows of the Markdown table whose first heading cell is `heading`, each as its cells. */
export function tableRows(/** @type {string} */ markdown, /** @type {string} */ heading) {
  const lines = markdown.split('\n')
  const rows = []
  for (let at = 0; at < lines.length; at++) {
    if (cellsOf(lines[at])[0] !== heading) continue
    for (let row = at + 2; lines[row]?.startsWith('|'); row++) rows.push({ cells: cellsOf(lines[row]), line: row + 1 })
  }
  return rows
}

function cellsOf(/** @type {string} */ line) {
  if (!line.startsWith('|')) return []
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
}
