import { dashboard } from './dashboard.ts'
import { explorerId, overviewId, toDashboard } from './links.ts'
import { limits } from './overview/limits.ts'
import { steps } from './overview/steps.ts'
import { waiting } from './overview/waiting.ts'
import { work } from './overview/work.ts'
import { workers } from './overview/workers.ts'
import { sources, workflow } from './variables.ts'

/** What one looks at first: a row for each question. */
export const overview = () =>
  dashboard({
    uid: overviewId,
    title: 'Holdfast: overview',
    description: 'Is work getting done, does anything wait, are the workers well? Each row is a question.',
    from: 'now-1h',
    refresh: '30s',
    variables: [...sources(), workflow()],
    links: [toDashboard('Run explorer', explorerId)],
    rows: [work, waiting, workers, limits, steps],
  })
