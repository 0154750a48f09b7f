import { instruments, prometheusName, type InstrumentName } from './instruments.ts'
import type { Observe } from './meters.ts'

/** Writes gauges as Prometheus reads them, under the names that the OTLP path gives them. */
export function writePrometheus(tell: (observe: Observe) => void): string {
  const samples = new Map<InstrumentName, string[]>()
  tell((name, value, attributes) => {
    // Neither names of workflows nor ids have signs that would have to be escaped.
    const labels = Object.entries(attributes).map(([key, each]) => `${key.replaceAll('.', '_')}="${String(each)}"`)
    const lines = samples.get(name) ?? []
    samples.set(name, lines)
    lines.push(`${prometheusName(name)}{${labels.join(',')}} ${value}`)
  })
  return [...samples]
    .map(([name, lines]) => {
      const series = prometheusName(name)
      return `# HELP ${series} ${instruments[name].doc}\n# TYPE ${series} gauge\n${lines.join('\n')}\n`
    })
    .join('')
}
