import { layOut, type Row } from './table.ts'
import { figures, medianOf, type FigureName, type WaitsRound } from './waits-figures.ts'

const header: Row = ['figure', 'median', 'bar', 'least', 'most']

/** For people; the JSON line is for programs. */
export function waitsTable(rounds: readonly WaitsRound[]): string {
  const rows = (Object.keys(figures) as FigureName[]).map((name): Row => {
    const { of, bar, digits } = figures[name]
    const values = rounds.map(of)
    return [name, medianOf(name, rounds), bar, Math.min(...values).toFixed(digits), Math.max(...values).toFixed(digits)]
  })
  return layOut([header, ...rows])
}
