/**
 * Every metric, once: what is recorded, docs/tracing.md's table and the dashboards' queries all follow this one. No run
 * id, step key or group key is an attribute of any: each value of an attribute is a time series of its own.
 */

interface Instrument {
  readonly kind: 'counter' | 'histogram' | 'gauge'
  readonly unit: string
  readonly doc: string
  readonly attributes: readonly string[]
  /** One worker reads it from the database for all. */
  readonly isRead?: true
}

export const instruments = {
  'holdfast.run.started': {
    kind: 'counter',
    unit: '{run}',
    doc: 'Starts by clients; `existing`: the id or key named a run that was there already',
    attributes: ['holdfast.workflow.name', 'holdfast.start.result'],
  },
  'holdfast.run.wait.duration': {
    kind: 'histogram',
    unit: 's',
    doc: 'From when a run was due to its claim',
    attributes: ['holdfast.workflow.name'],
  },
  'holdfast.claim.duration': {
    kind: 'histogram',
    unit: 's',
    doc: 'From a claim to its end',
    attributes: ['holdfast.workflow.name', 'holdfast.claim.outcome', 'error.type'],
  },
  'holdfast.run.duration': {
    kind: 'histogram',
    unit: 's',
    doc: "From a run's start to its end, waits and all",
    attributes: ['holdfast.workflow.name', 'holdfast.run.state'],
  },
  'holdfast.step.duration': {
    kind: 'histogram',
    unit: 's',
    doc: 'Each try of a step whose body ran, until its answer was kept',
    attributes: ['holdfast.workflow.name', 'holdfast.step.name', 'error.type'],
  },
  'holdfast.claim.active': {
    kind: 'gauge',
    unit: '{claim}',
    doc: 'Claims that a worker runs just now',
    attributes: ['holdfast.workflow.name', 'holdfast.worker.id'],
  },
  'holdfast.worker.slot.limit': {
    kind: 'gauge',
    unit: '{slot}',
    doc: 'Slots of a worker',
    attributes: ['holdfast.worker.id'],
  },
  'holdfast.worker.slot.usage': {
    kind: 'gauge',
    unit: '{slot}',
    doc: 'Slots of a worker that are in use',
    attributes: ['holdfast.worker.id'],
  },
  'holdfast.lease.lost': {
    kind: 'counter',
    unit: '{lease}',
    doc: 'Claims whose lease was lost before they ended',
    attributes: ['holdfast.workflow.name', 'holdfast.lease.reason'],
  },
  'holdfast.lease.renewal.duration': {
    kind: 'histogram',
    unit: 's',
    doc: "Each renewal of a worker's leases",
    attributes: [],
  },
  'holdfast.batch.size': {
    kind: 'histogram',
    unit: '{item}',
    doc: 'How many items shared a call to the database',
    attributes: ['holdfast.batch.call'],
  },
  'holdfast.limit.wait.duration': {
    kind: 'histogram',
    unit: 's',
    doc: 'How long a run was set aside under a limit or a pause before its claim',
    attributes: ['holdfast.workflow.name', 'holdfast.limit.kind'],
  },
  'holdfast.queue.depth': {
    kind: 'gauge',
    unit: '{run}',
    doc: 'Runs in each state but done and cancelled',
    attributes: ['holdfast.workflow.name', 'holdfast.run.state'],
    isRead: true,
  },
  'holdfast.queue.oldest.age': {
    kind: 'gauge',
    unit: 's',
    doc: 'How long the oldest due run has waited; 0: none waits',
    attributes: ['holdfast.workflow.name'],
    isRead: true,
  },
  'holdfast.limit.usage': {
    kind: 'gauge',
    unit: '{run}',
    doc: 'What of a limit is in use; of groups, by the one that uses most',
    attributes: ['holdfast.workflow.name', 'holdfast.limit.kind'],
    isRead: true,
  },
  'holdfast.limit.limit': {
    kind: 'gauge',
    unit: '{run}',
    doc: 'The limit in force',
    attributes: ['holdfast.workflow.name', 'holdfast.limit.kind'],
    isRead: true,
  },
  'holdfast.limit.saturated': {
    kind: 'gauge',
    unit: '{line}',
    doc: "Lines at their limit while runs wait: the workflow's own, or how many groups",
    attributes: ['holdfast.workflow.name', 'holdfast.limit.kind'],
    isRead: true,
  },
} as const

export type InstrumentName = keyof typeof instruments

const described: Readonly<Record<InstrumentName, Instrument>> = instruments

/** The names of one kind. */
export type NameOf<Kind extends Instrument['kind']> = {
  [Name in InstrumentName]: (typeof instruments)[Name]['kind'] extends Kind ? Name : never
}[InstrumentName]

/** Seconds. The SDK's default bounds are for milliseconds. */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600]
const counts = [1, 2, 5, 10, 20, 50, 100, 200, 500]

export function boundsOf(unit: string): number[] {
  return unit === 's' ? seconds : counts
}

/** As Prometheus has it after the OTLP path. */
export function prometheusName(name: InstrumentName): string {
  const { kind, unit } = described[name]
  return `${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
}
