import { expect } from 'vitest'
import { HandClient } from '../support/variant.ts'
import type { Block } from './pages.ts'

/** Sends a block to the database as psql does, and compares what it answers with what the block says, if it does. */
export async function runSql(connectionString: string, { content }: Block): Promise<void> {
  const client = new HandClient({ connectionString, types: { getTypeParser: () => (text: string) => text } })
  await client.connect()
  try {
    const answers = [await client.query<Record<string, string | null>>(content)].flat()
    const lines = answers.flatMap(({ rows }) => rows.map((row) => Object.values(row).join(' | ')))
    const said = [...content.matchAll(/; -- (.+)$/gm)].map(([, text]) => text)
    if (said.length > 0) expect(lines.filter((line) => line !== '')).toEqual(said)
  } finally {
    await client.end()
  }
}
