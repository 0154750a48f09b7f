import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface Target {
  readonly datasource: { readonly type: string }
  readonly expr?: string
  readonly legendFormat?: string
  readonly query?: string
}

export interface GridPos {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: GridPos
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly Target[]
}

interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
}

export interface PanelQuery {
  /** Of which panel it is. */
  readonly name: string
  /** With a value in place of each of Grafana's variables. */
  readonly text: string
  readonly legend: string
}

export const folder = fileURLToPath(new URL('../../observability/grafana/dashboards/', import.meta.url))

export const dashboards = readdirSync(folder).map((file) => {
  const text = readFileSync(`${folder}${file}`, 'utf8')
  return { file, text, content: JSON.parse(text) as Dashboard }
})

export const metricQueries: readonly PanelQuery[] = queriesOf('prometheus', ({ expr }) => expr)
export const traceQueries: readonly PanelQuery[] = queriesOf('tempo', ({ query }) => query)

/** For the title of a test. */
export function named(query: PanelQuery): [string, PanelQuery] {
  return [query.name, query]
}

function queriesOf(kind: string, textOf: (target: Target) => string | undefined): PanelQuery[] {
  return dashboards.flatMap(({ content }) =>
    content.panels.flatMap(({ title, targets = [] }) =>
      targets
        .filter(({ datasource }) => datasource.type === kind)
        .map((target, nth) => ({
          name: `${content.uid}, ${title}${nth > 0 ? `, ${nth + 1}` : ''}`,
          text: fill(textOf(target) ?? ''),
          legend: target.legendFormat ?? '',
        })),
    ),
  )
}

/** As Grafana would, with all workflows chosen. */
function fill(text: string): string {
  const values: Readonly<Record<string, string>> = {
    __rate_interval: '5s',
    __range: '5s',
    run: '0197f3c2-5a10-7c1e-9b1f-0d4c2e6a8b10',
    slow: '1s',
    workflow: '.*',
  }
  return text.replaceAll(/\$(\w+)/g, (all, name: string) => values[name] ?? all)
}
