import type { Row } from '../dashboard.ts'
import { graph } from '../panels.ts'
import { quantile, reported } from '../promql.ts'

const byKind = { by: ['holdfast_workflow_name', 'holdfast_limit_kind'] }
const line = '{{holdfast_workflow_name}} {{holdfast_limit_kind}}'

export const limits: Row = {
  title: 'Do limits hold work back?',
  panels: [
    graph({
      title: 'Limits and their use',
      question: 'How much of each limit is in use?',
      reading: [
        'For limits per group, this is the group that uses most.',
        'A limit that is never reached protects nothing yet; one that is always reached decides your throughput.',
      ],
      width: 8,
      unit: 'short',
      queries: [
        { expr: reported('holdfast_limit_usage', byKind), legend: `${line} in use` },
        { expr: reported('holdfast_limit_limit', byKind), legend: `${line} limit` },
      ],
    }),
    graph({
      title: 'Saturated',
      question: 'Where do runs wait for a limit right now?',
      reading: [
        'A limit of a workflow itself counts 1 while it does; limits per group count the groups that do.',
        'If that is not what you want, raise the limit: `workflow limits set`.',
      ],
      width: 8,
      unit: 'short',
      queries: [{ expr: reported('holdfast_limit_saturated', byKind), legend: line }],
    }),
    graph({
      title: 'Time spent waiting for limits',
      question: 'How long do limits keep runs back that are due?',
      reading: ['Compare it with the wait of all runs above: if both grow alike, only a higher limit will help.'],
      width: 8,
      unit: 's',
      queries: [0.5, 0.95].map((which) => ({
        expr: quantile(which, 'holdfast_limit_wait_duration_seconds', { by: ['holdfast_limit_kind'] }),
        legend: `{{holdfast_limit_kind}} p${which * 100}`,
      })),
    }),
  ],
}
