/**
 * Reads CSV as RFC 4180 has it: quoted fields may hold commas, doubled quotes and line breaks. A record that cannot be
 * read is reported with the line it begins on, and reading goes on at the next line.
 */

export type CsvRecord = { line: number; fields: string[] } | { line: number; problem: string }

// One field and what ends it. `y` makes each match begin exactly where the one before ended.
const field = /(?:[ \t]*"(?<quoted>[^"]*(?:""[^"]*)*)"[ \t]*|(?<plain>(?:[^",\r\n]|\r(?!\n))*))(?<end>,|\r?\n|$)/y

export function* readCsv(text: string): Generator<CsvRecord> {
  let position = text.startsWith('\uFEFF') ? 1 : 0
  let line = 1
  while (position < text.length) {
    const begin = position
    const fields: string[] = []
    let end: string | undefined = ','
    while (end === ',') {
      field.lastIndex = position
      const match = field.exec(text)?.groups
      end = match?.end
      if (!match) break
      position = field.lastIndex
      fields.push(match.quoted?.replaceAll('""', '"') ?? match.plain ?? '')
    }
    if (end === undefined) {
      yield { line, problem: 'a quote is not closed, or stands inside an unquoted field' }
      position = startOfNextLine(text, position)
    } else if (fields.length > 1 || fields[0] !== '') {
      yield { line, fields }
    }
    line += text.slice(begin, position).split('\n').length - 1
  }
}

function startOfNextLine(text: string, position: number): number {
  const lineBreak = text.indexOf('\n', position)
  return lineBreak === -1 ? text.length : lineBreak + 1
}
