import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { pages, root, type Page } from './pages.ts'

test('every link between pages leads to a file, and to a heading of it', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${page.path} -> ${link}`),
  )
  expect(broken).toEqual([])
})

test('the README leads to every other page', () => {
  const readme = pages.find(({ path }) => path === 'README.md')
  const linked = new Set(readme && linksOf(readme).map((link) => link.split('#')[0]))
  expect(pages.map(({ path }) => path).filter((path) => path !== 'README.md' && !linked.has(path))).toEqual([])
})

function linksOf({ text }: Page): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? '').filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(from: Page, link: string): boolean {
  const [file = '', heading] = link.split('#')
  const path = file === '' ? from.path : normalize(join(dirname(from.path), file))
  if (heading === undefined) return existsSync(join(root, path))
  const page = pages.find((each) => each.path === path)
  return page !== undefined && headingsOf(page).includes(heading)
}

/** As GitHub makes them: lower case, signs dropped, spaces to dashes. */
function headingsOf({ text }: Page): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    (title ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
