import { lineAt, matches } from './support/repository.mjs'
import { codeOnly, withoutComments } from './support/sql-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

const folder = 'sql/functions/'

/** Functions that lock or count and yet are right at every isolation level: name -> why. */
const anyIsolation = {
  start_runs: "it runs in the caller's transaction, and decides keys by unique index, never by a count",
}

/** What the queue's schema holds that our functions call. */
const queueNames = [
  'add_job',
  'add_jobs',
  'complete_jobs',
  'force_unlock_workers',
  'job_spec',
  'permanently_fail_jobs',
  'remove_job',
  'reschedule_jobs',
  '_private_jobs',
  '_private_job_queues',
  '_private_tasks',
]

/** One function a file, named alike; isolation, errors and schema names as the house has them. */
export function sqlFunctions(/** @type {Repository} */ { paths, read }) {
  const files = paths.filter((path) => path.startsWith(folder))
  const sources = paths.filter((path) => /^sql\/.*\.sql$/.test(path)).map((file) => ({ file, text: read(file) }))
  const names = namesOf(sources)
  return [
    ...files.flatMap((file) => [...oneFunction(file, read(file)), ...isolation(file, read(file))]),
    ...sources.flatMap(({ file, text }) => [...errors(file, text), ...schemas(file, text, names)]),
    ...staleExceptions(files, read),
  ]
}

/** @returns {Generator<Problem>} */
function* oneFunction(/** @type {string} */ file, /** @type {string} */ text) {
  const name = nameOf(file)
  const code = codeOnly(text)
  const made = [...matches(code, /^\s*(?:create|alter|drop|comment|grant|revoke|insert|select|do)\b[^\n]*/gim)].filter(
    ({ match }) => isTopLevel(code, match.index),
  )
  const [first, ...rest] = made
  const expected = new RegExp(`^\\s*create or replace function holdfast\\.${name}\\s*\\(`, 'i')
  if (first === undefined || !expected.test(first.match[0])) {
    yield {
      file,
      line: first?.line ?? 1,
      what: `It does not begin with \`create or replace function holdfast.${name}(\`.`,
      remedy: 'Name the file after its function.',
    }
  }
  for (const { match, line } of rest) {
    yield {
      file,
      line,
      what: `A second statement: ${match[0].trim()}`,
      remedy: 'Give each function a file; put everything else into a migration.',
    }
  }
}

/** @returns {Generator<Problem>} */
function* isolation(/** @type {string} */ file, /** @type {string} */ text) {
  const name = nameOf(file)
  // What begins with _ is called only by functions that have asked; those that call what locks lines count as locking.
  if (name.startsWith('_') || Object.hasOwn(anyIsolation, name) || callsGuard(text)) return
  const found = locksOrCounts(text) ?? callsDecider(text)
  if (found === undefined) return
  yield {
    file,
    line: lineAt(text, found.index),
    what: `It locks or counts (\`${found.text}\`) without holdfast._require_read_committed().`,
    remedy: 'Call it first: a lock waited for shows what was committed meanwhile only at read committed.',
  }
}

/** @returns {Generator<Problem>} */
function* errors(/** @type {string} */ file, /** @type {string} */ text) {
  const code = codeOnly(text)
  const sql = withoutComments(text)
  for (const { match, line } of matches(
    code,
    /\braise\b(?!\s*(?:;|debug\b|log\b|info\b|notice\b|warning\b))[^;]*;/gi,
  )) {
    const statement = sql.slice(match.index, match.index + match[0].length)
    if (/\busing\b[^;]*\berrcode\s*=\s*'WF[0-9A-Z]{3}'/i.test(statement)) continue
    yield {
      file,
      line,
      what: 'An error without a code of ours.',
      remedy: "End it with `using errcode = 'WFnnn'`, and map the code in src/db.",
    }
  }
}

/**
 * The migrator puts the real, quoted schema names in the place of exactly `holdfast.` and `holdfast_queue.`: a name
 * without its schema would follow the caller's search_path.
 *
 * @returns {Generator<Problem>}
 */
function* schemas(
  /** @type {string} */ file,
  /** @type {string} */ text,
  /** @type {ReturnType<typeof namesOf>} */ names,
) {
  const code = codeOnly(text)
  const report = (/** @type {number} */ line, /** @type {string} */ what, /** @type {string} */ remedy) => ({
    file,
    line,
    what,
    remedy,
  })
  for (const { match, line } of matches(
    code,
    /\b(?:public|graphile_worker)\s*\.\s*\w+|"holdfast\w*"\s*\.|\bholdfast\w*\s+\.|\bholdfast\w*\.\s+/gi,
  )) {
    yield report(
      line,
      `'${match[0].trim()}' is not a name the migrator puts in place.`,
      'Write holdfast. or holdfast_queue.',
    )
  }
  for (const { match, line } of matches(code, /\b(holdfast\w*)\./gi)) {
    if (['holdfast', 'holdfast_queue'].includes(match[1])) continue
    yield report(line, `'${match[0]}' is not a schema of ours.`, 'Write holdfast. or holdfast_queue.')
  }
  const ctes = new Set(
    [
      ...code.matchAll(
        /(?:\bwith(?:\s+recursive)?|,)\s*(\w+)\s*(?:\([^()]*\)\s*)?as\s*(?:(?:not\s+)?materialized\s*)?\(/gi,
      ),
    ].map(([, name]) => name),
  )
  const places =
    /\b(?:from|join|update|into|table|view|only|references|using|on)\s+(?:if\s+(?:not\s+)?exists\s+)?(\w+)(?!\w|\s*[.(])/gi
  for (const { match, line } of matches(code, places)) {
    if (names.tables.has(match[1]) && !ctes.has(match[1]))
      yield report(line, `'${match[1]}' follows the caller's search_path.`, `Write holdfast.${match[1]}.`)
  }
  for (const { match, line } of matches(code, /(?<![\w."])(\w+)\s*\(/g)) {
    if (names.functions.has(match[1]) && !ctes.has(match[1]))
      yield report(line, `'${match[1]}' follows the caller's search_path.`, `Write holdfast.${match[1]}.`)
  }
  for (const { match, line } of matches(code, new RegExp(`(?<![\\w."])(${queueNames.join('|')})\\b(?!\\s*\\.)`, 'g'))) {
    yield report(line, `'${match[1]}' follows the caller's search_path.`, `Write holdfast_queue.${match[1]}.`)
  }
}

/** @returns {Problem[]} */
function staleExceptions(/** @type {string[]} */ files, /** @type {(path: string) => string} */ read) {
  return Object.keys(anyIsolation).flatMap((name) => {
    const file = `${folder}${name}.sql`
    if (files.includes(file) && locksOrCounts(read(file)) !== undefined && !callsGuard(read(file))) return []
    const remedy = 'Remove it from scripts/checks/sql-functions.mjs.'
    return [{ file, line: 1, what: `The exception for ${name} is not needed.`, remedy }]
  })
}

function locksOrCounts(/** @type {string} */ text) {
  const code = codeOnly(text)
  if (/\)\s*returns\b[^$]*\b(?:stable|immutable)\b[^$]*\bas\s+\$/i.test(code)) return undefined
  const match = /\bfor (?:update|no key update|share|key share)\b|\bcount\s*\(/i.exec(code)
  return match === null ? undefined : { index: match.index, text: match[0] }
}

/** Of the private functions those that decide under locks. */
function callsDecider(/** @type {string} */ text) {
  const match =
    /\bholdfast\.(?:_fill|_lines_of|_lock_lines|_claim_places|_give_places|_apply_limits|_remove_runs)\s*\(/.exec(
      codeOnly(text),
    )
  return match === null ? undefined : { index: match.index, text: match[0] }
}

function callsGuard(/** @type {string} */ text) {
  return /\bholdfast\._require_read_committed\s*\(\s*\)/.test(codeOnly(text))
}

/** Outside every dollar-quoted body and every parenthesis. */
function isTopLevel(/** @type {string} */ code, /** @type {number} */ index) {
  const before = code.slice(0, index)
  if ((before.match(/\$\w*\$/g)?.length ?? 0) % 2 === 1) return false
  return (before.match(/\(/g)?.length ?? 0) === (before.match(/\)/g)?.length ?? 0)
}

/** What this project itself names in its schema. */
function namesOf(/** @type {{ file: string, text: string }[]} */ sources) {
  const made = sources.flatMap(({ text }) => [
    ...codeOnly(text).matchAll(
      /\bcreate\s+(?:or\s+replace\s+)?(?:unlogged\s+)?(?:recursive\s+)?(table|view|function|procedure|sequence)\s+(?:if\s+not\s+exists\s+)?holdfast\.(\w+)/gi,
    ),
  ])
  const ofKind = (/** @type {string[]} */ kinds) =>
    new Set(made.filter(([, kind]) => kinds.includes(kind.toLowerCase())).map(([, , name]) => name))
  return { tables: ofKind(['table', 'view', 'sequence']), functions: ofKind(['function', 'procedure']) }
}

function nameOf(/** @type {string} */ file) {
  return file.slice(folder.length).replace(/\.sql$/, '')
}
