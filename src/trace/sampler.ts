import { isSpanContextValid, trace, TraceFlags, type Attributes, type Context } from '@opentelemetry/api'
import { ConfigError } from '../model/errors.ts'

/** What an OpenTelemetry SDK takes for a sampler. */
export interface RunSampler {
  shouldSample(
    context: Context,
    traceId: string,
    name: string,
    kind: number,
    attributes: Attributes,
  ): { decision: number }
  toString(): string
}

// As the SDK numbers them: https://opentelemetry.io/docs/specs/otel/trace/sdk/#shouldsample
const drop = 0
const recordAndSample = 2

/**
 * Keeps the traces of a share of all runs: of each run all its claims or none, in every process alike, and of a family of
 * runs too. A span with a parent follows that one, so what is beneath a claim is kept with it.
 *
 * @throws ConfigError unless `ratio` is from 0 to 1.
 */
export function runSampler(ratio: number): RunSampler {
  if (typeof ratio !== 'number' || !(ratio >= 0 && ratio <= 1)) {
    throw new ConfigError(`ratio is ${String(ratio)}.`, { field: 'ratio', remedy: 'Give a number from 0 to 1.' })
  }
  return {
    shouldSample: (context, traceId, _name, _kind, attributes) => {
      const parent = trace.getSpanContext(context)
      const isKept =
        parent && isSpanContextValid(parent)
          ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
          : ratio === 1 || placeOf(familyOf(attributes) ?? traceId) < ratio
      return { decision: isKept ? recordAndSample : drop }
    },
    toString: () => `RunSampler{${ratio}}`,
  }
}

function familyOf(attributes: Attributes): string | undefined {
  const root = attributes['messaging.message.conversation_id'] ?? attributes['holdfast.run.id']
  return root === undefined ? undefined : String(root)
}

/** From 0 to below 1, the same for the same text, and spread evenly. */
function placeOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
