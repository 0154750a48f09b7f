import type { Row } from '../dashboard.ts'
import { graph } from '../panels.ts'
import { average, chosen, perMinute, quantile, reported, totalOf } from '../promql.ts'

/** A worker reports its slots; one that was started anew under its old name, for a moment twice. */
const slots = { by: ['holdfast_worker_id'], ofWorkers: true }

export const workers: Row = {
  title: 'Are workers healthy?',
  panels: [
    graph({
      title: 'Slots',
      question: 'Is there room for more work?',
      reading: [
        'All workers together, whichever workflows are chosen.',
        'If all slots are in use and runs wait, add workers or give them more slots.',
        'If the limit falls, workers were lost.',
      ],
      width: 8,
      unit: 'short',
      queries: [
        { expr: totalOf(reported('holdfast_worker_slot_usage', slots)), legend: 'in use' },
        { expr: totalOf(reported('holdfast_worker_slot_limit', slots)), legend: 'limit' },
      ],
    }),
    graph({
      title: 'Active claims',
      question: 'Who uses the slots?',
      reading: ['If one workflow crowds out the others, give it a concurrency limit or workers of its own.'],
      width: 8,
      unit: 'short',
      isStacked: true,
      queries: [
        {
          expr: totalOf(chosen('holdfast_claim_active'), ['holdfast_workflow_name']),
          legend: '{{holdfast_workflow_name}}',
        },
      ],
    }),
    graph({
      title: 'Leases lost, by reason',
      question: 'Do workers lose runs that they still work at?',
      reading: [
        'Should be none.',
        '`superseded`: another worker has the run by now, so this one was frozen, cut off or too late to renew.',
        'Look at its event loop, its connections and the renewals.',
        '`not_found`: the run had ended or was given back.',
      ],
      width: 8,
      unit: 'suffix: leases/min',
      queries: [
        {
          expr: perMinute('holdfast_lease_lost_total', { by: ['holdfast_lease_reason'] }),
          legend: '{{holdfast_lease_reason}}',
        },
      ],
    }),
    graph({
      title: 'Lease renewals',
      question: 'Does the database answer in time?',
      reading: [
        'Renewing must take far less than a third of the lease, or runs are lost.',
        'If it takes long, the database is slow, or the pool has no free connection, or the event loop is blocked.',
        'All workers, whichever workflows are chosen.',
      ],
      width: 12,
      unit: 's',
      queries: [0.5, 0.99].map((which) => ({
        expr: quantile(which, 'holdfast_lease_renewal_duration_seconds', { ofWorkers: true }),
        legend: `p${which * 100}`,
      })),
    }),
    graph({
      title: 'Batch sizes, by call',
      question: 'How many things does one call to the database do?',
      reading: [
        'Larger batches under load are good: they are what keeps the number of calls down.',
        'If all stay at 1 while the database is busy, it is asked for each run by itself.',
        'All workers, whichever workflows are chosen.',
      ],
      width: 12,
      unit: 'short',
      queries: [
        {
          expr: average('holdfast_batch_size', { by: ['holdfast_batch_call'], ofWorkers: true }),
          legend: '{{holdfast_batch_call}} on average',
        },
        {
          expr: quantile(0.95, 'holdfast_batch_size', { by: ['holdfast_batch_call'], ofWorkers: true }),
          legend: '{{holdfast_batch_call}} p95',
        },
      ],
    }),
  ],
}
