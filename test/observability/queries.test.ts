import { expect, test } from 'vitest'
import { prometheusNames, spanAttributes } from './metric-names.ts'
import { dashboards, metricQueries, named, traceQueries } from './panel-queries.ts'
import { parse } from './parse.ts'

/** Metrics and labels that no instrument has. A label must be one of the metric it is asked of. */
function unknownNames(query: string): string[] {
  const { nodes } = parse('promql', query)
  const selectors = nodes('VectorSelector').map((selector) => ({
    metric: nodes('Identifier', selector)[0]?.text ?? '',
    labels: nodes('LabelName', selector).map(({ text }) => text),
  }))
  const groupings = nodes('AggregateExpr').flatMap((aggregate) => {
    const [grouping] = nodes('GroupingLabels', aggregate)
    const labels = grouping ? nodes('LabelName', grouping).map(({ text }) => text) : []
    return nodes('VectorSelector', aggregate).map((selector) => ({
      metric: nodes('Identifier', selector)[0]?.text ?? '',
      labels,
    }))
  })
  return [...selectors, ...groupings].flatMap(({ metric, labels }) => {
    const known = prometheusNames.get(metric)
    return known ? labels.filter((label) => !known.includes(label)).map((label) => `${metric}{${label}}`) : [metric]
  })
}

test.each(metricQueries.map(named))('%s is PromQL', (_, { text }) => {
  expect(parse('promql', text).errors).toEqual([])
  expect(text).not.toContain('$')
})

test.each(metricQueries.map(named))('%s asks only for metrics and labels that there are', (_, { text }) => {
  expect(unknownNames(text)).toEqual([])
})

test.each(metricQueries.map(named))('%s has a legend of labels that its answer has', (_, { text, legend }) => {
  const answered = parse('promql', text).nodes('GroupingLabels')[0]?.text ?? ''
  for (const [, label] of legend.matchAll(/\{\{(\w+)\}\}/g)) expect(answered).toMatch(new RegExp(`\\b${label}\\b`))
  expect(legend).not.toBe('')
})

test.each(traceQueries.map(named))('%s is TraceQL', (_, { text }) => {
  expect(parse('traceql', text).errors).toEqual([])
  expect(text).not.toContain('$')
})

test.each(traceQueries.map(named))('%s asks only for attributes that spans have', (_, { text }) => {
  const { nodes } = parse('traceql', text)
  const asked = nodes('AttributeField').flatMap((field) => nodes('Identifier', field).map((name) => name.text))
  expect(asked).not.toEqual([])
  expect(asked.filter((name) => !spanAttributes.has(name))).toEqual([])
})

test('every metric is on a panel', () => {
  const shown = metricQueries.flatMap(({ text }) =>
    parse('promql', text)
      .nodes('Identifier')
      .map((node) => family(node.text)),
  )
  const families = new Set([...prometheusNames.keys()].map(family))
  expect([...families].filter((name) => !shown.includes(name))).toEqual([])
})

test('the workflows to choose from are those that any metric names', () => {
  const labels = [...prometheusNames.values()].flat()
  for (const { content } of dashboards) {
    const query = content.templating.list.find(({ name }) => name === 'workflow')?.query
    const [, label] = /^label_values\((\w+)\)$/.exec(query ?? '') ?? []
    expect(labels).toContain(label)
  }
})

test('a query that is wrong is seen to be', () => {
  expect(parse('promql', 'sum by (le) (rate(holdfast_run_started_total[5s])').errors).not.toEqual([])
  expect(parse('traceql', '{ span.holdfast.run.id = }').errors).not.toEqual([])
  expect(unknownNames('sum by (le) (rate(holdfast_run_startled_total[5s]))')).toEqual([
    'holdfast_run_startled_total',
    'holdfast_run_startled_total',
  ])
  expect(unknownNames('max by (holdfast_run_state) (holdfast_queue_oldest_age_seconds{holdfast_run_id="1"})')).toEqual([
    'holdfast_queue_oldest_age_seconds{holdfast_run_id}',
    'holdfast_queue_oldest_age_seconds{holdfast_run_state}',
  ])
})

/** A histogram is three series of one name. */
function family(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '')
}
