import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import { DashboardCursorSync, defaultDashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import type { DashboardLink, Panel, VariableModel } from '@grafana/grafana-foundation-sdk/dashboard'

export interface Row {
  /** The question that its panels answer. */
  readonly title: string
  readonly panels: readonly Builder<Panel>[]
}

interface Content {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** How far back it looks at first, as in `now-6h`. */
  readonly from: string
  /** How often it looks again; empty: only when asked. */
  readonly refresh: string
  readonly variables: readonly Builder<VariableModel>[]
  readonly links: readonly DashboardLink[]
  /** Above the first row. */
  readonly head?: readonly Builder<Panel>[]
  readonly rows: readonly Row[]
}

const columns = 24

/**
 * The classic form of a dashboard, which every Grafana that reads dashboards from files knows. The SDK's own builder of
 * it is marked as going away, so the few lines that place panels are ours.
 */
export function dashboard({ uid, title, description, from, refresh, variables, links, head = [], rows }: Content) {
  return {
    ...defaultDashboard(),
    uid,
    title,
    description,
    tags: ['holdfast'],
    graphTooltip: DashboardCursorSync.Crosshair,
    time: { from, to: 'now' },
    refresh,
    templating: { list: variables.map((variable) => variable.build()) },
    links,
    panels: place(head, rows),
  }
}

/** Panels from left to right and lines from top to bottom, each with a number of its own. */
function place(head: readonly Builder<Panel>[], rows: readonly Row[]) {
  let id = 0
  let y = 0
  const fill = (builders: readonly Builder<Panel>[]): Panel[] => {
    let x = 0
    let height = 0
    const placed = builders.map((builder) => {
      const panel = builder.build()
      const { w, h } = panel.gridPos ?? { w: columns, h: 1 }
      if (x + w > columns) {
        y += height
        x = 0
        height = 0
      }
      const gridPos = { x, y, w, h }
      x += w
      height = Math.max(height, h)
      return { ...panel, id: ++id, gridPos }
    })
    y += height
    return placed
  }
  return [
    ...fill(head),
    ...rows.flatMap(({ title, panels }) => {
      const heading = new RowBuilder(title).id(++id).gridPos({ x: 0, y, w: columns, h: 1 }).build()
      y += 1
      return [heading, ...fill(panels)]
    }),
  ]
}
