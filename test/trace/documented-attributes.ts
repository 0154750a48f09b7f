import { readFileSync } from 'node:fs'

const page = readFileSync(new URL('../../docs/tracing.md', import.meta.url), 'utf8')

/** The names in the table of attributes of docs/tracing.md, sorted. */
export function documentedAttributes(): readonly string[] {
  const section = page.slice(page.indexOf('### Attributes'), page.indexOf('| outcome of a claim'))
  const rows = [...section.matchAll(/^\| (`.+?`) +\|/gm)].map(([, names]) => names ?? '')
  return rows.flatMap((names) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')).toSorted()
}
