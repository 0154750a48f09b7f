import type pg from 'pg'

type Parse = (text: string) => unknown

const boolType = 16

const parseNumber: Parse = Number
const parseJson: Parse = JSON.parse
const parseBool: Parse = (text) => text === 't'
const asText: Parse = (text) => text

/** Parsers of our own: an application may have changed pg's global ones. What is not named stays text, times too. */
export function typeParsers(oids: {
  readonly numbers: readonly number[]
  readonly json: readonly number[]
}): pg.CustomTypesConfig {
  const parsers = new Map<number, Parse>([
    ...oids.numbers.map((oid) => [oid, parseNumber] as const),
    ...oids.json.map((oid) => [oid, parseJson] as const),
    [boolType, parseBool],
  ])
  return { getTypeParser: ((oid: number) => parsers.get(oid) ?? asText) as pg.CustomTypesConfig['getTypeParser'] }
}
