import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The pages that people read, and the fenced blocks in them. What stands after the language of a TypeScript block says
 * what is done with it beside type-checking:
 *
 *   ts                      nothing more; it may use the names that ambient.d.ts declares
 *   ts name=workflows.ts    other blocks of its page can import it under that name
 *   ts run                  it is run, and each `console.log(…) // text` in it must print that text
 *   ts name=x.test.ts       the tests in it are run, with those of its page beside them
 *
 * A SQL block marked `run` is sent to the database, after what stands above it on its page; if it says what
 * comes of that, each `; -- text` is a row that is answered, with ` | ` between its columns.
 */

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string
  readonly text: string
}

export interface Block {
  readonly page: string
  /** Of the first line of its content, from 1. */
  readonly line: number
  readonly language: string
  readonly isRun: boolean
  readonly name: string | undefined
  readonly content: string
}

export const pages: readonly Page[] = [
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...readdirSync(`${root}docs`).flatMap((file) => (file.endsWith('.md') ? [`docs/${file}`] : [])),
].map((path) => ({ path, text: readFileSync(root + path, 'utf8') }))

export const blocks: readonly Block[] = pages.flatMap(blocksOf)

function blocksOf({ path, text }: Page): Block[] {
  return [...text.matchAll(/^```(\w*)([^\n]*)\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: language, 2: info, 3: content }) => {
      const words = (info ?? '').trim().split(/\s+/)
      return {
        page: path,
        line: text.slice(0, index).split('\n').length + 1,
        language: language ?? '',
        isRun: words.includes('run'),
        name: words.find((word) => word.startsWith('name='))?.slice('name='.length),
        content: content ?? '',
      }
    },
  )
}
