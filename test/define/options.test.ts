import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { defineWorkflow } from '../../src/define/define-workflow.ts'
import { defaultText } from '../../src/define/option.ts'
import { optionTables } from '../../src/define/options.ts'
import { renderOptions } from '../../src/define/render-options.ts'
import { workflowOptions } from '../../src/define/workflow-options.ts'
import { resolveRetry } from '../../src/model/retry.ts'

const tables = Object.entries(optionTables)

test.each(tables)('every option of %s is documented in whole sentences', (_, table) => {
  for (const option of Object.values(table)) expect(option.doc).toMatch(/^[A-Z].*\.$/)
})

test.each(tables)('every default of %s passes its own check', (_, table) => {
  for (const [name, option] of Object.entries(table)) {
    if (option.default !== undefined) expect(option.check(name).safeParse(option.default).error).toBeUndefined()
  }
})

test('the retry that the table declares is what a workflow without one gets', () => {
  expect(defineWorkflow({ name: 'x', handler: () => 1 }).definition.retry).toEqual(resolveRetry({}, 'retry'))
  expect(Object.keys(workflowOptions.retry.default as object)).toEqual([
    'initial',
    'factor',
    'max',
    'jitter',
    'nonRetryable',
  ])
})

describe('comments on the public types', () => {
  const files = { defineWorkflow: 'workflow', createClient: 'client', createWorker: 'worker', start: 'start' } as const
  // those of Limits, which the model owns
  const elsewhere = new Set(['group', 'concurrency', 'rate', 'fair'])

  test.each(Object.entries(files))('those of %s say what its table declares', async (name, file) => {
    const comments = await readComments(`../../src/define/${file}-options.ts`)
    if (name === 'createWorker')
      Object.assign(comments, { ...(await readComments('../../src/define/client-options.ts')), ...comments })
    const table = optionTables[name as keyof typeof optionTables]
    const declared = Object.entries(table).map(([option, { doc, ...rest }]) => {
      return [option, rest.isRequired ? doc : `${doc} Default: ${defaultText({ doc, ...rest })}.`]
    })
    for (const [option, comment] of declared) {
      if (name === 'defineWorkflow' && elsewhere.has(option!)) continue
      expect({ [option!]: comments[option!] }).toEqual({ [option!]: comment })
    }
  })

  async function readComments(path: string): Promise<Record<string, string>> {
    const source = await readFile(new URL(path, import.meta.url), 'utf8')
    const found = source.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(\w+)\??:/gm)
    return Object.fromEntries(
      [...found].map(([, comment, option]) => [
        option,
        comment!
          .replaceAll(/\n\s*\*?/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ]),
    )
  }
})

describe('as Markdown', () => {
  test('an option is a row with its type, unit, default and meaning', () => {
    const rows = renderOptions(optionTables.defineWorkflow).split('\n')
    expect(rows.slice(0, 2)).toEqual(['| option | type | default | what it is for |', '| --- | --- | --- | --- |'])
    expect(rows).toContain(
      '| `lease` | `Duration` (a number counts ms) | `30s` | How long a claim lasts without a renewal, at least 100 ms; renewed at half of it. |',
    )
    expect(rows).toContain(
      '| `deadline` | `Duration` (a number counts ms) | none | How long a run may take from its start to its end. |',
    )
    expect(rows).toContain(
      '| `handler` | `(input, run) => output` | required | The workflow itself: an ordinary function of its parsed input and the run. |',
    )
    expect(rows.find((row) => row.startsWith('| `retry`'))).toContain(
      "`{ initial: '1s', factor: 2, max: '1h', jitter: 0.1, nonRetryable: [] }`",
    )
  })

  test.each(tables)('every option of %s has a row of four cells, pipes escaped', (_, table) => {
    const rows = renderOptions(table).trimEnd().split('\n').slice(2)
    expect(rows).toHaveLength(Object.keys(table).length)
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6)
  })
})
