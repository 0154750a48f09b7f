import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseInput, parseOutput } from '../../src/define/parse-schema.ts'
import { InvalidInputError, InvalidOutputError } from '../../src/model/errors.ts'

const refusal = (promise: Promise<unknown>): Promise<InvalidInputError> =>
  promise.then(
    (value) => expect.fail(`accepted as ${JSON.stringify(value)}`),
    (error: unknown) => error as InvalidInputError,
  )

const schemas: readonly [string, StandardSchemaV1][] = [
  ['zod', z.object({ users: z.array(z.object({ age: z.string().transform(Number) })) })],
  ['valibot', v.object({ users: v.array(v.object({ age: v.pipe(v.string(), v.transform(Number)) })) })],
  ['arktype', type({ users: type({ age: 'string.numeric.parse' }).array() })],
]

describe.each(schemas)('with %s', (_, input) => {
  const definition = { name: 'welcome', input }

  test('RUN-17: input that fits is parsed', async () => {
    expect(await parseInput(definition, { users: [{ age: '7' }] })).toEqual({ users: [{ age: 7 }] })
  })

  test('RUN-17: input that does not fit is refused with the path of what is wrong', async () => {
    const error = await refusal(parseInput(definition, { users: [{ age: '7' }, { age: 8 }] }))
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', retryable: false, field: 'input' })
    expect(error.issues).toEqual([{ path: 'users[1].age', message: expect.stringMatching(/./) as string }])
    expect(error.message).toContain("input of workflow 'welcome' does not fit its schema: users[1].age: ")
  })

  test('RUN-17: input that is missing as a whole is refused', async () => {
    const error = await refusal(parseInput(definition, undefined))
    expect(error.issues).toEqual([{ path: '', message: expect.stringMatching(/./) as string }])
  })
})

test('without a schema a value passes as it is', async () => {
  const value = { any: [1] }
  expect(await parseInput({ name: 'x', input: undefined }, value)).toBe(value)
  expect(await parseInput({ name: 'x', input: undefined }, undefined)).toBeUndefined()
  expect(await parseOutput({ name: 'x', output: undefined }, value)).toBe(value)
})

test('RUN-17: a schema may be asynchronous', async () => {
  const definition = { name: 'x', input: z.string().refine((text) => Promise.resolve(text !== 'taken'), 'is taken') }
  expect(await parseInput(definition, 'free')).toBe('free')
  expect((await refusal(parseInput(definition, 'taken'))).issues).toEqual([{ path: '', message: 'is taken' }])
})

const answering = (validate: () => unknown): StandardSchemaV1 =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as StandardSchemaV1

describe('a schema that itself fails', () => {
  const broken = new TypeError('cannot read')

  const throwing = (thrown: unknown) => (): never => {
    throw thrown
  }

  test.each<[string, () => unknown, unknown]>([
    ['throws', throwing(broken), broken],
    ['rejects', () => Promise.reject(broken), broken],
    ['throws no error', throwing('text'), 'text'],
    ['throws what has no text', throwing(Object.create(null)), {}],
  ])('RUN-17: is reported as invalid with its cause: %s', async (_, validate, cause) => {
    const error = await refusal(parseInput({ name: 'x', input: answering(validate) }, 1))
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(error.message).toContain("input of workflow 'x' could not be checked")
    expect(error.cause).toEqual(cause)
    expect(error.issues).toHaveLength(1)
  })

  test('RUN-17: is reported as invalid if it answers nothing', async () => {
    expect(await refusal(parseInput({ name: 'x', input: answering(() => undefined) }, 1))).toBeInstanceOf(
      InvalidInputError,
    )
  })
})

test('paths are written as code would be, whatever the segments', async () => {
  const paths: StandardSchemaV1.Issue['path'][] = [
    [],
    undefined,
    ['a', 'b', 0, 'c'],
    [{ key: 'a' }, { key: 1 }],
    ['user name', 'x-y'],
    [''],
    ['0'],
    [Symbol('s')],
  ]
  const issues = paths.map((path) => ({ message: 'm', ...(path && { path }) }))
  const error = await refusal(parseInput({ name: 'x', input: answering(() => ({ issues })) }, 1))
  expect(error.issues.map(({ path }) => path)).toEqual([
    '',
    '',
    'a.b[0].c',
    'a[1]',
    '["user name"]["x-y"]',
    '[""]',
    '[0]',
    '[Symbol(s)]',
  ])
  expect(error.message).toContain('does not fit its schema: m; m; a.b[0].c: m, and 5 more.')
})

test('RUN-17: output is checked and parsed by its own schema', async () => {
  const definition = { name: 'welcome', output: z.object({ at: z.coerce.date() }) }
  expect(await parseOutput(definition, { at: 0 })).toEqual({ at: new Date(0) })
  const error = await refusal(parseOutput(definition, { at: 'never' }))
  expect(error).toBeInstanceOf(InvalidOutputError)
  expect(error).toMatchObject({ code: 'INVALID_OUTPUT', field: 'output' })
  expect(error.message).toContain("output of workflow 'welcome' does not fit its schema: at: ")
})
