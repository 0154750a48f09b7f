/** What the dashboards ask Prometheus. `$workflow` is the variable of that name; Grafana fills in the windows. */

/** Since the last points: for a line. */
const recent = '$__rate_interval'
/** The whole time that is shown: for a ranking. */
const shown = '$__range'

const ofChosen = 'holdfast_workflow_name=~"$workflow"'

interface Series {
  /** The labels to keep. */
  readonly by?: readonly string[]
  /** Matchers beside the one that keeps to the chosen workflows. */
  readonly where?: readonly string[]
  /** Whether the metric speaks of workers rather than workflows: then the choice of workflows changes nothing. */
  readonly ofWorkers?: boolean
  readonly window?: typeof recent | typeof shown
}

/** How much a counter, or the count or sum of a histogram, grew a second. */
export function perSecond(counter: string, { by = [], window = recent, ...series }: Series = {}): string {
  return `sum${grouping(by)} (rate(${counter}${matchers(series)}[${window}]))`
}

/** How much it grew a minute: for what is rare when all is well. */
export function perMinute(counter: string, series: Series = {}): string {
  return `60 * ${perSecond(counter, series)}`
}

export function quantile(which: number, histogram: string, { by = [], ...series }: Series = {}): string {
  return `histogram_quantile(${which}, ${perSecond(`${histogram}_bucket`, { ...series, by: ['le', ...by] })})`
}

export function average(histogram: string, series: Series = {}): string {
  return `${perSecond(`${histogram}_sum`, series)} / ${perSecond(`${histogram}_count`, series)}`
}

/**
 * A gauge that one elected worker reads from the database. While that duty moves on two may report it, so the greatest
 * counts, and nothing is summed over processes.
 */
export function reported(gauge: string, { by = [], ...series }: Series = {}): string {
  return `max${grouping(by)} (${gauge}${matchers(series)})`
}

/** The ten greatest over the time shown. What did not happen in it has no quantile, and is left out. */
export function topTenQuantile(which: number, histogram: string, series: Series = {}): string {
  return `topk(10, ${quantile(which, histogram, { ...series, window: shown })} >= 0)`
}

/** A gauge of the chosen workflows, as it is. */
export function chosen(gauge: string): string {
  return `${gauge}${matchers({})}`
}

export function totalOf(inner: string, by: readonly string[] = []): string {
  return `sum${grouping(by)} (${inner})`
}

function grouping(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` by (${labels.join(', ')})`
}

function matchers({ where = [], ofWorkers = false }: Series): string {
  const all = ofWorkers ? where : [ofChosen, ...where]
  return all.length === 0 ? '' : `{${all.join(', ')}}`
}
