import { instruments, prometheusName } from '../../src/trace/instruments.ts'
import type { InstrumentName } from '../../src/trace/instruments.ts'
import { documentedAttributes } from '../trace/documented-attributes.ts'

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
export const spanAttributes: ReadonlySet<string> = new Set(documentedAttributes())

function underscored(name: string): string {
  return name.replaceAll('.', '_')
}
