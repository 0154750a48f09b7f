import type { Row } from '../dashboard.ts'
import { exploreClaims } from '../links.ts'
import { graph } from '../panels.ts'
import { reported, totalOf } from '../promql.ts'
import { percentiles } from './percentiles.ts'

export const waiting: Row = {
  title: 'Is anything waiting?',
  panels: [
    graph({
      title: 'Wait',
      question: 'How long do runs that are due wait until a worker claims them?',
      reading: [
        'If it grows, see whether all slots are in use (then add workers or slots) or a limit holds runs back.',
      ],
      width: 8,
      unit: 's',
      queries: percentiles('holdfast_run_wait_duration_seconds'),
    }),
    graph({
      title: 'Oldest waiting',
      question: 'How long has the run waited that waits longest?',
      reading: [
        'This speaks of runs that nobody has claimed yet, and so does not stop when all workers do something else.',
        'A line that rises as the clock does means that nobody takes this workflow.',
        'Does a worker have it, is it paused, is its limit used up? `workflow why` says it of one run.',
      ],
      width: 8,
      unit: 's',
      link: exploreClaims,
      queries: [
        {
          expr: reported('holdfast_queue_oldest_age_seconds', { by: ['holdfast_workflow_name'] }),
          legend: '{{holdfast_workflow_name}}',
        },
      ],
    }),
    graph({
      title: 'Runs by state',
      question: 'Where are the runs?',
      reading: [
        '`waiting` are due and unclaimed: if they grow, more comes in than gets done.',
        '`scheduled` and `suspended` wait for a time or a signal, which is no fault.',
        '`failed` stay until they are retried or removed.',
      ],
      width: 8,
      unit: 'short',
      queries: [
        {
          expr: totalOf(reported('holdfast_queue_depth', { by: ['holdfast_workflow_name', 'holdfast_run_state'] }), [
            'holdfast_run_state',
          ]),
          legend: '{{holdfast_run_state}}',
        },
      ],
    }),
  ],
}
