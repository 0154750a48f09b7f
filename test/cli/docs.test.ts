import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { states } from '../../src/model/state.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

/** The page's sections by their headings. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
)

/** Every command that does something, by its full name, as `limits set`. */
const commands = createProgram().commands.flatMap((command) =>
  command.commands.length === 0
    ? [{ name: command.name(), command }]
    : command.commands.map((each) => ({ name: `${command.name()} ${each.name()}`, command: each })),
)

/** The options in a section's table, as `--help` writes them, each with its default. */
function documented(section: string): Map<string, string> {
  const rows = [...section.matchAll(/^\| `(--[^`]+)` \|.*\| ([^|]*?) ?\|$/gm)]
  return new Map(rows.map(([, flags, inherent]) => [flags as string, inherent as string]))
}

const shared = documented(sections.get('Every command') ?? '')

test('docs/cli.md has a section for each command, and for no other', () => {
  const [first, ...others] = [...sections.keys()]
  expect(first).toBe('Every command')
  expect(others.toSorted()).toEqual(commands.map(({ name }) => name).toSorted())
})

test.each(commands)(
  'docs/cli.md has each option that `workflow $name --help` shows, and no other',
  ({ name, command }) => {
    const own = documented(sections.get(name) ?? '')
    const helped = command
      .createHelp()
      .visibleOptions(command)
      .map((option) => option.flags)
    expect([...own.keys(), ...shared.keys()].toSorted()).toEqual(
      helped.map((flags) => flags.replace('-h, ', '')).toSorted(),
    )
    for (const option of command.options) {
      const [, described] = /\(default: (.+)\)$/.exec(option.description) ?? []
      const inherent = typeof option.defaultValue === 'string' ? option.defaultValue : described
      if (inherent) expect((own.get(option.flags) ?? shared.get(option.flags))?.replaceAll('`', '')).toBe(inherent)
      if (option.mandatory) expect(own.get(option.flags)).toBe('required')
    }
  },
)

test('docs/cli.md names every state that list takes, and every way in which a command ends', () => {
  for (const state of states) expect(sections.get('list')).toContain(`\`${state}\``)
  expect([...page.matchAll(/^\| (\d) \|/gm)].map(([, code]) => code)).toEqual(['0', '1', '2', '3'])
})
