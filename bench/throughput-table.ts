import type { Medians } from './measure.ts'
import { layOut, type Row } from './table.ts'
import type { ThroughputResult } from './throughput.ts'

const header: Row = [
  'work',
  'slots',
  'peer',
  'runs/s',
  'vs graphile',
  'vs ceiling',
  'enqueue/s',
  'worker CPU ms/1k',
  'Postgres CPU ms/1k',
  'WAL B/run',
]

/** For people; the JSON line is for programs. */
export function throughputTable({ results }: ThroughputResult): string {
  const rows = Object.entries(results).flatMap(([work, cells]) =>
    Object.entries(cells).flatMap(([slots, cell]) => [
      rowOf([work, slots, 'holdfast'], cell, [cell.vs_graphile, cell.vs_ceiling]),
      ...Object.entries(cell.peers).map(([peer, medians]) => rowOf([work, slots, peer], medians, [null, null])),
    ]),
  )
  return layOut([header, ...rows])
}

function rowOf(labels: Row, figures: Medians, ratios: Row): Row {
  return [
    ...labels,
    figures.runs_s,
    ...ratios,
    figures.enqueue_s,
    figures.worker_cpu_ms,
    figures.postgres_cpu_ms,
    figures.wal_bytes,
  ]
}
