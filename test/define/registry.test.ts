import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/define/define-workflow.ts'
import { createRegistry } from '../../src/define/registry.ts'
import { ConfigError } from '../../src/model/errors.ts'
import type { Workflow } from '../../src/model/workflow.ts'

const first = defineWorkflow({ name: 'first', handler: () => 1 })
const second = defineWorkflow({ name: 'second', handler: () => 2 })

test('a registry finds workflows by name and lists them in the order given', () => {
  const registry = createRegistry([second, first])
  expect(registry.names).toEqual(['second', 'first'])
  expect(registry.workflows).toEqual([second, first])
  expect(registry.get('first')).toBe(first)
  expect(registry.get('third')).toBeUndefined()
  expect(registry.get('toString')).toBeUndefined()
})

test('a registry does not follow later changes of the list', () => {
  const list: Workflow[] = [first]
  const registry = createRegistry(list)
  list.push(second)
  expect(registry.names).toEqual(['first'])
})

test.each([
  ['no workflows', [], 'workflows', 'an empty array'],
  ['no list', undefined, 'workflows', 'undefined'],
  ['one workflow without a list', first, 'workflows', 'an object'],
  ['a module of workflows', { first, second }, 'workflows', 'an object'],
  ['undefined from a wrong import', [first, undefined], 'workflows[1]', 'undefined'],
  ['a hole', [first, , second], 'workflows[1]', 'undefined'], // oxlint-disable-line no-sparse-arrays
  ['a handler', [() => 1], 'workflows[0]', 'a function'],
  ['options that were not defined', [{ name: 'x', handler: () => 1 }], 'workflows[0]', 'an object'],
  ['a promise', [Promise.resolve(first)], 'workflows[0]', 'a promise'],
  ['a name', ['first'], 'workflows[0]', 'a string'],
])('OPS-07: %s is refused with its place', (_, given, field, kind) => {
  expect(() => createRegistry(given as Workflow[])).toThrow(ConfigError)
  expect(() => createRegistry(given as Workflow[])).toThrow(
    expect.objectContaining({ field, message: expect.stringContaining(`${field} got ${kind}. Give `) }),
  )
})

test('OPS-07: undefined is explained as a wrong import', () => {
  expect(() => createRegistry([undefined as never])).toThrow('An import that its file does not export is undefined.')
})

test('OPS-07: a workflow twice is refused by name', () => {
  const twin = defineWorkflow({ name: 'first', handler: () => 3 })
  for (const list of [
    [first, second, first],
    [first, second, twin],
  ]) {
    expect(() => createRegistry(list)).toThrow(ConfigError)
    expect(() => createRegistry(list)).toThrow(
      expect.objectContaining({ field: 'workflows[2]', message: expect.stringContaining("named 'first'") }),
    )
  }
})
