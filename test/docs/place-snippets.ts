import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrismaClient } from '../support/prisma-client.ts'
import { root, type Block } from './pages.ts'

export interface Placed extends Block {
  /** Where the block was written to. */
  readonly file: string
}

/** Writes TypeScript blocks to files. Blocks of a page lie beside each other, so that they can import one another. */
export async function placeSnippets(folder: string, snippets: readonly Block[]): Promise<readonly Placed[]> {
  await symlink(`${root}node_modules`, join(folder, 'node_modules'), 'junction')
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const page of new Set(snippets.filter(isWithPrisma).map((block) => block.page))) {
    generatePrismaClient(new URL('schema.prisma', import.meta.url), homeOf(folder, page))
  }
  return await Promise.all(
    snippets.map(async (block) => {
      const home = homeOf(folder, block.page)
      const file = join(home, block.name ?? `line-${block.line}.ts`)
      await mkdir(home, { recursive: true })
      await writeFile(file, asModule(block))
      return { ...block, file }
    }),
  )
}

/** It imports the client that Prisma generates for an application. */
function isWithPrisma({ content }: Block): boolean {
  return content.includes(`from './generated/client.ts'`)
}

/** Where the blocks of a page are. */
export function homeOf(folder: string, page: string): string {
  return join(folder, page.replaceAll(/\W/g, '-'))
}

/** The names of the package lead to its source, and the block is a module even if it imports nothing. Lines stay. */
function asModule({ content }: Block): string {
  const text = content
    .replaceAll(/(?<=\bfrom )'holdfast'/g, `'${root}src/index.ts'`)
    .replaceAll(/(?<=\bfrom )'holdfast\/(\w+)'/g, `'${root}src/$1.ts'`)
  return /^(?:import|export)\b/m.test(text) ? text : `export {};${text}`
}
