import type { LatencyFigures } from './latency-round.ts'
import type { LatencyResult } from './latency.ts'
import { layOut, type Row } from './table.ts'

const header: Row = ['work', 'peer', 'ms, p50 / p99:', 'start', 'to handler', 'to result']

/** For people; the JSON line is for programs. */
export function latencyTable({ results }: LatencyResult): string {
  const rows = Object.entries(results).flatMap(([work, cell]) => [
    rowOf([work, 'holdfast', ''], cell),
    ...Object.entries(cell.peers).map(([peer, figures]) => rowOf([work, peer, ''], figures)),
    ...(cell.vs_graphile ? [rowOf([work, 'holdfast / graphile', ''], cell.vs_graphile)] : []),
  ])
  return layOut([header, ...rows])
}

function rowOf(labels: Row, figures: LatencyFigures): Row {
  const { start_ms: start, start_to_handler_ms: handler, start_to_result_ms: result } = figures
  return [...labels, ...[start, handler, result].map(({ p50, p99 }) => `${p50 ?? '-'} / ${p99 ?? '-'}`)]
}
