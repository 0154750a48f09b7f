/** The table that the file goes into, of the application's own. */
import { createReadStream } from 'node:fs'
import { text } from 'node:stream/consumers'
import type { Queryable } from '../../src/index.ts'
import { readCsv } from '../support/csv.ts'
import type { Chunk } from './split-file.ts'
import type { Contents } from './write-csv.ts'

/** It has no key on purpose: nothing but Holdfast keeps a row from being there twice. */
export async function openRows(db: Queryable): Promise<void> {
  await db.query(`
    create schema import;
    create table import.rows (id int not null, name text not null, cents int not null, process_id int not null)`)
}

/** Reads a stretch of the file and writes its rows. Answers how many. */
export async function writeChunk(tx: Queryable, path: string, { start, end }: Chunk): Promise<number> {
  const records = [...readCsv(await text(createReadStream(path, { start, end: end - 1 })))]
  const fields = records.map((record) => {
    if ('fields' in record) return record.fields
    throw new Error(`${path}, from byte ${start}, record ${record.line}: ${record.problem}.`)
  })
  const column = (index: number): (string | undefined)[] => fields.map((each) => each[index])
  await tx.query(
    `insert into import.rows
     select id, name, cents, $4 from unnest($1::int[], $2::text[], $3::int[]) row (id, name, cents)`,
    [column(0), column(1), column(2), process.pid],
  )
  return fields.length
}

export async function countRows(db: Queryable): Promise<number> {
  const { rows } = await db.query('select count(*)::int as count from import.rows')
  return rows[0].count
}

/** How many rows each process has written, the first row's first. */
export async function rowsByProcess(db: Queryable): Promise<{ pid: number; count: number }[]> {
  const { rows } = await db.query(
    'select process_id as pid, count(*)::int as count from import.rows group by 1 order by min(id)',
  )
  return rows
}

/** Of all rows as they are: one that is lost, altered or there twice makes another checksum. */
export async function contentsOf(db: Queryable): Promise<Contents> {
  const { rows } = await db.query(
    `select count(*)::int as count, md5(string_agg(id || '|' || name || '|' || cents || ';', '' order by id)) as checksum
     from import.rows`,
  )
  return rows[0]
}
