import { defaultText } from './option.ts'
import type { AnyOptionTable } from './option.ts'

/** A table of options as Markdown, for the docs: one row for each, in the order of their declaration. */
export function renderOptions(table: AnyOptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => {
    const isValue = option.default !== undefined && option.defaultNote === undefined
    const type = option.unit === undefined ? code(option.type) : `${code(option.type)} (a number counts ${option.unit})`
    return [code(name), type, isValue ? code(defaultText(option)) : defaultText(option), option.doc]
  })
  return [['option', 'type', 'default', 'what it is for'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.map(escapePipes).join(' | ')} |\n`)
    .join('')
}

function code(text: string): string {
  return `\`${text}\``
}

function escapePipes(cell: string): string {
  return cell.replaceAll('|', String.raw`\|`)
}
