import { PanelBuilder as BarGaugePanel } from '@grafana/grafana-foundation-sdk/bargauge'
import {
  BarGaugeDisplayMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizOrientation,
} from '@grafana/grafana-foundation-sdk/common'
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder as PromQuery } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as TablePanel } from '@grafana/grafana-foundation-sdk/table'
import { DataqueryBuilder as TraceQuery, SearchTableType } from '@grafana/grafana-foundation-sdk/tempo'
import { PanelBuilder as GraphPanel } from '@grafana/grafana-foundation-sdk/timeseries'
import { exploreRun } from './links.ts'
import type { Link } from './links.ts'
import { prometheus, tempo } from './variables.ts'

interface Shown {
  readonly title: string
  /** What it answers. */
  readonly question: string
  /** How to read the answer, and what to do about a bad one: sentences. */
  readonly reading?: readonly string[]
  /** Columns of the 24 that a dashboard has. */
  readonly width: number
}

interface Query {
  readonly expr: string
  /** May name labels, as in `{{holdfast_run_state}}`. */
  readonly legend: string
}

interface Metrics extends Shown {
  readonly unit: string
  readonly queries: readonly Query[]
  /** Where a click on what it shows leads. */
  readonly link?: Link
}

interface Graph extends Metrics {
  readonly height?: number
  readonly isStacked?: boolean
}

/** Lines over time. */
export function graph({
  title,
  width,
  height = 8,
  unit,
  queries,
  link,
  isStacked = false,
  ...shown
}: Graph): GraphPanel {
  const panel = new GraphPanel()
    .title(title)
    .description(describe(shown))
    .span(width)
    .height(height)
    .datasource(prometheus)
    .unit(unit)
    .min(0)
    .lineWidth(1)
    .fillOpacity(isStacked ? 30 : 5)
    .showPoints(VisibilityMode.Auto)
    .stacking(new StackingConfigBuilder().mode(isStacked ? StackingMode.Normal : StackingMode.None))
    .tooltip({ build: () => ({ mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending }) })
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .targets(queries.map((query, nth) => metricQuery(query, nth).range()))
  return link ? panel.overrideByRegexp('/.*/', leadingTo(link)) : panel
}

/** Bars, the greatest on top, over the whole time that is shown. */
export function ranking({ title, width, unit, queries, link, ...shown }: Metrics): BarGaugePanel {
  const panel = new BarGaugePanel()
    .title(title)
    .description(describe(shown))
    .span(width)
    .height(10)
    .datasource(prometheus)
    .unit(unit)
    .min(0)
    .orientation(VizOrientation.Horizontal)
    .displayMode(BarGaugeDisplayMode.Basic)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .targets(queries.map((query, nth) => metricQuery(query, nth).instant()))
  return link ? panel.overrideByRegexp('/.*/', leadingTo(link)) : panel
}

interface TraceTable extends Shown {
  readonly query: string
  /** A line for each trace, or for each span that matches. */
  readonly lines: 'traces' | 'spans'
}

/** What a TraceQL query finds. A click on an id opens the trace, one on a run id shows that run. */
export function traceTable({ title, width, query, lines, ...shown }: TraceTable): TablePanel {
  return new TablePanel()
    .title(title)
    .description(describe(shown))
    .span(width)
    .height(9)
    .datasource(tempo)
    .overrideByName('holdfast.run.id', leadingTo(exploreRun))
    .withTarget(
      new TraceQuery()
        .refId('A')
        .datasource(tempo)
        .queryType('traceql')
        .query(query)
        .limit(50)
        .spss(50)
        .tableType(lines === 'traces' ? SearchTableType.Traces : SearchTableType.Spans),
    )
}

function describe({ question, reading = [] }: Pick<Shown, 'question' | 'reading'>): string {
  return [question, reading.join(' ')].join('\n\n').trim()
}

function metricQuery({ expr, legend }: Query, nth: number): PromQuery {
  const refId = String.fromCodePoint('A'.codePointAt(0)! + nth)
  return new PromQuery().refId(refId).datasource(prometheus).expr(expr).legendFormat(legend)
}

function leadingTo(link: Link): DynamicConfigValue[] {
  return [{ id: 'links', value: [link] }]
}
