import { expect, test } from 'vitest'
import { publicNames, testedNames } from './public-names.ts'

const pathsOf = (names: typeof publicNames): string[] => names.map(({ path }) => path)

test('there is a surface, of functions, classes, types and methods', () => {
  expect(pathsOf(publicNames)).toEqual(
    expect.arrayContaining([
      'createClient',
      'Client',
      'Client.start',
      'Run.step',
      'Duration',
      'fromKysely',
      'TestRuntime.advance',
    ]),
  )
})

test('every public name has a type test', () => {
  expect(pathsOf(publicNames.filter(({ name }) => !testedNames.has(name)))).toEqual([])
})

test('every public name says what it is', () => {
  expect(pathsOf(publicNames.filter(({ doc }) => doc === ''))).toEqual([])
})
