import { layOut, type Row } from './table.ts'
import { bars, type TracingOutcome } from './tracing.ts'

const header: Row = ['cell', 'ratio', 'bar', 'least', 'most', 'worker CPU']

/** For people; the JSON line is for programs. */
export function tracingTable({ result: { results, worker_cpu: cpu }, rounds }: TracingOutcome): string {
  const rows = (['no_sdk', 'exporting'] as const).map((name): Row => {
    const ratios = rounds[name]
    return [name, results[name], bars[name], Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3), cpu[name]]
  })
  return layOut([header, ...rows])
}
