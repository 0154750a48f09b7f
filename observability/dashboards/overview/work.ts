import type { Row } from '../dashboard.ts'
import { exploreClaims } from '../links.ts'
import { graph } from '../panels.ts'
import { perMinute, perSecond } from '../promql.ts'
import { percentiles } from './percentiles.ts'

export const work: Row = {
  title: 'Is work getting done?',
  panels: [
    graph({
      title: 'Runs started',
      question: 'How much work comes in?',
      reading: [
        '`existing` are starts whose id or key named a run that was there already: with many, a caller repeats itself.',
      ],
      width: 8,
      unit: 'suffix: runs/s',
      queries: [
        {
          expr: perSecond('holdfast_run_started_total', { by: ['holdfast_start_result'] }),
          legend: '{{holdfast_start_result}}',
        },
      ],
    }),
    graph({
      title: 'Runs ended',
      question: 'How much work gets finished, and how much of it fails for good?',
      reading: [
        'If fewer end than are started, runs pile up: see whether anything waits.',
        'Cancelled runs are not counted.',
      ],
      width: 8,
      unit: 'suffix: runs/s',
      queries: [
        {
          expr: perSecond('holdfast_run_duration_seconds_count', { by: ['holdfast_run_state'] }),
          legend: '{{holdfast_run_state}}',
        },
      ],
    }),
    graph({
      title: 'Claims ended, by outcome',
      question: 'What do workers get out of their claims?',
      reading: [
        'One run takes one claim or many.',
        'Much `retry` means that attempts fail and are tried again.',
        '`lease_lost`: workers were too slow, or dead, and lost the run. `released`: workers stopped.',
      ],
      width: 8,
      unit: 'suffix: claims/s',
      isStacked: true,
      queries: [
        {
          expr: perSecond('holdfast_claim_duration_seconds_count', { by: ['holdfast_claim_outcome'] }),
          legend: '{{holdfast_claim_outcome}}',
        },
      ],
    }),
    graph({
      title: 'Claim duration',
      question: 'How long does a worker have a run in hand at a time?',
      reading: [
        'Where it grows, look which steps are slow.',
        'The lease need not be longer than this: a live worker renews it.',
      ],
      width: 8,
      unit: 's',
      queries: percentiles('holdfast_claim_duration_seconds'),
    }),
    graph({
      title: 'Run duration',
      question: 'How long from the start of a run to its end, with all its waits, retries and sleeps?',
      reading: ['If it grows while claims take as long as ever, runs wait: see the next row.'],
      width: 8,
      unit: 's',
      queries: percentiles('holdfast_run_duration_seconds'),
    }),
    graph({
      title: 'Failing claims, by error',
      question: 'What goes wrong, and where?',
      reading: ['A click on a line leads to the claims of that workflow that failed, with their traces.'],
      width: 8,
      unit: 'suffix: claims/min',
      link: exploreClaims,
      queries: [
        {
          expr: perMinute('holdfast_claim_duration_seconds_count', {
            by: ['holdfast_workflow_name', 'error_type'],
            where: ['error_type!=""'],
          }),
          legend: '{{holdfast_workflow_name}}: {{error_type}}',
        },
      ],
    }),
  ],
}
