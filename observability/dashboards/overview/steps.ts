import type { Row } from '../dashboard.ts'
import { exploreClaims } from '../links.ts'
import { graph, ranking } from '../panels.ts'
import { perMinute, topTenQuantile } from '../promql.ts'

const ofStep = ['holdfast_workflow_name', 'holdfast_step_name']
const step = '{{holdfast_workflow_name}} / {{holdfast_step_name}}'

export const steps: Row = {
  title: 'Which steps are slow or fail?',
  panels: [
    ranking({
      title: 'Slowest steps (p95)',
      question: 'Which steps take longest, over the time shown?',
      reading: [
        'A click leads to the slow claims of that workflow.',
        'Only bodies that ran count, not results that were kept from an earlier claim.',
      ],
      width: 12,
      unit: 's',
      link: exploreClaims,
      queries: [{ expr: topTenQuantile(0.95, 'holdfast_step_duration_seconds', { by: ofStep }), legend: step }],
    }),
    graph({
      title: 'Failing steps, by error',
      question: 'Which steps throw, and what?',
      reading: [
        'One error in one step points at your code or at a service it calls; one in many, at what they share.',
        'A click leads to the failed claims of that workflow.',
      ],
      width: 12,
      height: 10,
      unit: 'suffix: steps/min',
      link: exploreClaims,
      queries: [
        {
          expr: perMinute('holdfast_step_duration_seconds_count', {
            by: [...ofStep, 'error_type'],
            where: ['error_type!=""'],
          }),
          legend: `${step}: {{error_type}}`,
        },
      ],
    }),
  ],
}
