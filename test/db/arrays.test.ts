import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonArray, plainArray, textArray } from '../../src/db/arrays.ts'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()
const same = <T>(value: T): T => value

async function unnested(type: string, array: string | null): Promise<unknown[]> {
  const { rows } = await database.query<{ x: unknown }>(`select x::text as x from unnest($1::${type}[]) x`, [array])
  return rows.map((row) => row.x)
}

/** What Postgres can store as text. */
const storable = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'))

test('texts come out of an array as they went in, whatever they hold', async () => {
  const signs = ['', 'NULL', 'null', '{}', ',', '"', '\\', '\\"', ' a ', '\n\t\u0001', 'ä€😀', '\\n', '"{1,2}"']
  expect(await unnested('text', textArray([...signs, null, undefined], same))).toEqual([...signs, null, null])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(storable), { minLength: 1 }), async (texts) => {
      const array = textArray(texts, same)
      if (array === null) expect(texts.every((text) => text === null)).toBe(true)
      else expect(await unnested('text', array)).toEqual(texts)
    }),
    { numRuns: 200 },
  )
})

test('JSON comes out of an array letter by letter as it went in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.json({ stringUnit: 'binary' }), { minLength: 1 }), async (given) => {
      const texts = given.map((json) => JSON.stringify(JSON.parse(json)))
      expect(await unnested('json', jsonArray(texts, same))).toEqual(texts)
    }),
    { numRuns: 200 },
  )
})

test('plain cells need no quotes, and a column without any is null', async () => {
  expect(plainArray([1, null, -2.5, 1e-7, undefined], same)).toBe('{1,NULL,-2.5,1e-7,NULL}')
  expect(await unnested('real', plainArray([1, null, -2.5, 1e-7], same))).toEqual(['1', null, '-2.5', '1e-07'])
  for (const array of [plainArray, textArray, jsonArray]) {
    expect(array([null, undefined], () => null)).toBeNull()
    expect(array([], () => null)).toBeNull()
  }
})
