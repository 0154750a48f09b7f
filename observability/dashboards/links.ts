import { DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard'
import type { DashboardLink } from '@grafana/grafana-foundation-sdk/dashboard'

/** What an address of Grafana names a dashboard by. */
export const overviewId = 'holdfast-overview'
export const explorerId = 'holdfast-run-explorer'

export interface Link {
  readonly title: string
  readonly url: string
}

/** The time that is shown and the sources, as they are here. */
const kept = '${__url_time_range}&${datasource:queryparam}&${tempo:queryparam}'

/** From a run id in a table to all about that run. */
export const exploreRun: Link = {
  title: 'Explore this run',
  url: `/d/${explorerId}?${kept}&\${workflow:queryparam}&var-run=\${__value.raw}`,
}

/** From a line of the overview to the claims behind it. */
export const exploreClaims: Link = {
  title: 'Find its runs',
  url: `/d/${explorerId}?${kept}&var-workflow=\${__field.labels.holdfast_workflow_name}`,
}

/** In the head of a dashboard, where it is seen; the SDK's default is a menu. */
export function toDashboard(title: string, id: string): DashboardLink {
  const { placement: _, ...link } = new DashboardLinkBuilder(title)
    .type(DashboardLinkType.Link)
    .icon('dashboard')
    .url(`/d/${id}`)
    .keepTime(true)
    .includeVars(true)
    .build()
  return link
}
