import { bars, cellNames } from './limits-cells.ts'
import type { LimitsOutcome } from './limits.ts'
import { layOut, type Row } from './table.ts'

const header: Row = ['cell', 'ratio', 'bar', 'least', 'most']

/** For people; the JSON line is for programs. */
export function limitsTable({ result: { results }, rounds }: LimitsOutcome): string {
  const rows = cellNames.map((name): Row => {
    const ratios = rounds[name]
    return [name, results[name], bars[name], Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3)]
  })
  return layOut([header, ...rows])
}
