import colors from 'picocolors'

/** Something that an example must have shown. */
export interface Check {
  readonly holds: boolean
  readonly claim: string
  /** What bears the claim out, or what speaks against it. */
  readonly found: string
}

export type Line = readonly [label: string, value: string | number, remark?: string]

export function printTable(title: string, lines: readonly Line[]): void {
  console.log(`\n${colors.bold(title)}`)
  for (const [label, value, remark = ''] of lines)
    console.log(`  ${label.padEnd(24)}${String(value).padStart(7)}   ${colors.dim(remark)}`.trimEnd())
}

export function printChecks(checks: readonly Check[]): void {
  console.log()
  for (const { holds, claim, found } of checks)
    console.log(holds ? `${colors.green('✓')} ${claim}: ${found}` : colors.red(`✗ ${claim}: ${found}`))
}

export function seconds(ms: number | null): string {
  return ms === null ? 'never' : `${(ms / 1000).toFixed(2)} s`
}

export function listed(names: readonly string[]): string {
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ')
}
