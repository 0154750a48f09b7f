import { matches } from './support/repository.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

const self = 'scripts/checks/leftovers.mjs'
const binary = /\.(?:png|jpe?g|gif|ico|woff2?|gz|tgz)$/

/** @type {{ in: RegExp, find: RegExp, what: string, remedy: string }[]} */
const rules = [
  {
    in: /./,
    find: /(?<![\w.:/$}-])\/(?:home|Users|root|work|workspace|tmp|private|mnt)\/[\w.-]+/g,
    what: 'is a path of one machine',
    remedy: 'Name it relative to the repository, or make it with mkdtemp in os.tmpdir().',
  },
  {
    in: /./,
    find: /\b(?:TODO|FIXME|XXX|HACK)\b/g,
    what: 'is unfinished work',
    remedy: 'Do it, or take it out.',
  },
  {
    in: /^(?:src|test|examples|bench)\/.*\.[cm]?[jt]s$/,
    find: /\b(?:test|it|describe|suite|bench)(?:\.\w+)*\.(?:only|skip|todo)\b/g,
    what: 'leaves tests out',
    remedy: 'Run them all; where a test needs what is not there, use skipIf with the reason in its title.',
  },
  {
    in: /^(?:package-lock\.json|\.npmrc)$/,
    find: /(?:"resolved": "|registry=)https?:\/\/(?!registry\.npmjs\.org\/)[^"\s]*/g,
    what: 'names a registry that others cannot reach',
    remedy: 'Install with omit-lockfile-registry-resolved, or from the public registry.',
  },
]

/** Nothing that only makes sense on the machine, or the day, on which it was written. */
export function leftovers(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  for (const file of paths.filter((path) => path !== self && !binary.test(path))) {
    const text = read(file)
    for (const rule of rules) {
      if (!rule.in.test(file)) continue
      for (const { match, line } of matches(text, rule.find)) {
        problems.push({ file, line, what: `'${match[0]}' ${rule.what}.`, remedy: rule.remedy })
      }
    }
  }
  return problems
}
