import { quantile } from '../promql.ts'

interface Percentile {
  readonly expr: string
  readonly legend: string
}

/** The usual one, the slow ones and the slowest ones. */
export function percentiles(histogram: string): Percentile[] {
  return [0.5, 0.95, 0.99].map((which) => ({ expr: quantile(which, histogram), legend: `p${which * 100}` }))
}
