export type Row = readonly (string | number | null)[]

/** Columns as wide as their widest cell; the first row is the header. */
export function layOut(rows: readonly Row[]): string {
  const texts = rows.map((row) => row.map((cell) => String(cell ?? '-')))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)))
  return texts.map((row) => row.map((text, column) => text.padStart(widths[column] ?? 0)).join('  ')).join('\n')
}
