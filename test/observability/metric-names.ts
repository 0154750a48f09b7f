import { instruments, prometheusName } from '../../src/trace/instruments.ts'
import type { InstrumentName } from '../../src/trace/instruments.ts'

/** Each series as Prometheus has it after the OTLP path, with the labels that it may have. */
export const prometheusNames: ReadonlyMap<string, readonly string[]> = new Map(
  (Object.keys(instruments) as InstrumentName[]).flatMap((instrument): [string, string[]][] => {
    const name = prometheusName(instrument)
    const labels = instruments[instrument].attributes.map(underscored)
    if (instruments[instrument].kind !== 'histogram') return [[name, labels]]
    return [
      [`${name}_bucket`, [...labels, 'le']],
      [`${name}_sum`, labels],
      [`${name}_count`, labels],
    ]
  }),
)

/** What spans carry, where a query may ask for it. */
export const spanAttributes: ReadonlySet<string> = new Set([
  'error.type',
  'holdfast.attempt.max',
  'holdfast.attempt.number',
  'holdfast.claim.outcome',
  'holdfast.claim.token',
  'holdfast.limit.wait',
  'holdfast.queue.wait',
  'holdfast.rate.wait',
  'holdfast.replay.command',
  'holdfast.retry.delay',
  'holdfast.run.id',
  'holdfast.step.key',
  'holdfast.step.name',
  'holdfast.step.try',
  'holdfast.steps.recalled',
  'holdfast.worker.id',
  'holdfast.workflow.name',
  'messaging.system',
])

function underscored(name: string): string {
  return name.replaceAll('.', '_')
}
