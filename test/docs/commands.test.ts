import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { blocks, pages, root } from './pages.ts'

/** It speaks of commands that are promised and not there yet. */
const read = pages.filter(({ path }) => path !== 'docs/contract.md')

const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

/** Commands as they stand in shell blocks and in code within sentences, with continued lines joined. */
const commands = [
  ...blocks.filter(({ language }) => language === 'sh').map(({ page, content }) => ({ page, content })),
  ...read.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:npx )?workflow [a-z]|npm )[^`\n]*`/g)].map(([code]) => ({
      page: path,
      content: code.slice(1, -1),
    })),
  ),
].flatMap(({ page, content }) =>
  content
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => ({ page, line: line.replace(/\s#.*$/, '').trim() })),
)

test('every npm script that a page names exists', () => {
  const named = commands.flatMap(({ page, line }) =>
    [...line.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, run, short]) => ({
      page,
      script: run ?? short ?? '',
    })),
  )
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter(({ script }) => scripts[script] === undefined)).toEqual([])
})

test('every command and flag of `workflow` that a page names exists', () => {
  const program = createProgram()
  const named = commands.filter(({ line }) => /^(?:npx )?workflow\b/.test(line))
  expect(named.length).toBeGreaterThan(5)
  expect(named.flatMap(({ page, line }) => problemsOf(program, line).map((problem) => `${page}: ${problem}`))).toEqual(
    [],
  )
})

function problemsOf(program: Command, line: string): string[] {
  const [, ...words] = line
    .replace(/^npx /, '')
    .replaceAll(/'[^']*'|"[^"]*"/g, 'text')
    .split(/\s+/)
  const [name = ''] = words
  const group = name.startsWith('-') ? program : program.commands.find((each) => each.name() === name)
  const command =
    group?.commands.length && group !== program && words.length > 1
      ? group.commands.find((each) => each.name() === words[1])
      : group
  if (!command) return [`${line}: there is no command ${name}`]
  const known = new Set(['--help', ...command.options.map((option) => option.long)])
  if (command === program) known.add('--version')
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? '')
  return flags.filter((flag) => !known.has(flag)).map((flag) => `${line}: ${name} has no ${flag}`)
}
