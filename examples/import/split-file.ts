import { createReadStream } from 'node:fs'

/** A stretch of a file, in bytes; `end` is the first that is no more part of it. */
export interface Chunk {
  readonly start: number
  readonly end: number
}

const quote = 0x22
const lineBreak = 0x0a

/** Where chunks of so many records lie in a CSV file, without its first record. It is streamed: any size will do. */
export async function splitFile(path: string, recordsPerChunk: number): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  let position = 0
  let start: number | undefined
  let count = 0
  let isQuoted = false
  const cut = (end: number): void => {
    if (start !== undefined && end > start) chunks.push({ start, end })
    start = end
    count = 0
  }
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    for (const byte of bytes) {
      position += 1
      // A doubled quote within a field toggles twice. A line break within one ends no record.
      if (byte === quote) isQuoted = !isQuoted
      if (byte !== lineBreak || isQuoted) continue
      count += 1
      // The first record names the columns.
      if (start === undefined || count === recordsPerChunk) cut(position)
    }
  }
  cut(position)
  return chunks
}
