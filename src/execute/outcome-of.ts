import { makeStart } from '../define/make-start.ts'
import { parseOutput } from '../define/parse-schema.ts'
import type { Claim } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import { encode } from '../model/codec.ts'
import { Directive, type DirectiveKind, type Steer } from '../model/directive.ts'
import { UnusedDirectiveError } from '../model/errors.ts'
import type { Outcome } from '../model/outcome.ts'
import { backoffMs } from '../model/retry.ts'
import { storableText } from '../model/storable.ts'
import { isNonRetryable, storeError } from '../model/stored-error.ts'
import type { Definition } from '../model/workflow.ts'
import type { HandlerSpan } from '../trace/tracing.ts'

export interface Context {
  readonly definition: Definition
  readonly claim: Claim
  readonly clock: Clock
  readonly trace: HandlerSpan
  /** Directives the handler has made. */
  readonly directives: ReadonlySet<Directive>
}

const longestReason = 8 * 1024

/** What becomes of the run when its handler returned. */
export async function outcomeOfValue(context: Context, value: unknown): Promise<Outcome> {
  const { definition, directives } = context
  try {
    const steer = Directive.steerOf(value)
    if (steer) return await outcomeOfSteer(context, steer)
    const unused = [...directives][0]
    if (unused) {
      throw new UnusedDirectiveError(`The handler made run.${unused.kind}() and neither returned nor threw it.`, {
        remedy: `Write \`return run.${unused.kind}(…)\`.`,
      })
    }
    return { kind: 'done', output: encode(await parseOutput(definition, value), 'output') }
  } catch (error) {
    return await outcomeOfThrown(context, error)
  }
}

/** What becomes of the run when its handler threw. */
export async function outcomeOfThrown(context: Context, thrown: unknown): Promise<Outcome> {
  const { nonRetryable } = context.definition.retry
  const steer = Directive.steerOf(thrown)
  if (steer) return await outcomeOfSteer(context, steer)
  context.trace.threw(thrown)
  const error = storeError(thrown, { nonRetryable })
  if (isNonRetryable(thrown, nonRetryable)) {
    return { kind: 'failed', failure: 'rejected', reason: error.message, error }
  }
  return { kind: 'retry', delayMs: backoff(context), reason: error.message, error, ifLast: 'attempts_exhausted' }
}

export function backoff({ definition, claim, clock }: Pick<Context, 'definition' | 'claim' | 'clock'>): number {
  return backoffMs(definition.retry, Math.max(1, claim.attempt), () => clock.random())
}

async function outcomeOfSteer(context: Context, steer: Steer): Promise<Outcome> {
  if (steer.kind === 'continue') return await continued(context, steer.input)
  return steering[steer.kind](context, steer as never)
}

/** The run that goes on, under the same key. The rest of what was said at the first one's start stays, too. */
async function continued(context: Context, input: unknown): Promise<Outcome> {
  const { definition, claim, clock, trace } = context
  const { id, key, workflow } = claim
  try {
    const { item } = await makeStart({ name: workflow, definition }, input, key === undefined ? {} : { key }, clock)
    return { kind: 'continued', next: { ...item, ...trace.carrier, max_waiting: undefined, continues: id } }
  } catch (error) {
    return await outcomeOfThrown(context, error)
  }
}

type Settling = Exclude<DirectiveKind, 'continue'>

const steering: { readonly [K in Settling]: (context: Context, steer: Extract<Steer, { kind: K }>) => Outcome } = {
  retry: (context, { delayMs, reason }) => ({
    kind: 'retry',
    delayMs: delayMs ?? backoff(context),
    reason: storable(reason),
    error: undefined,
    ifLast: 'attempts_exhausted',
  }),
  snooze: (_, { delayMs, reason }) => ({ kind: 'snooze', delayMs, reason: storable(reason) }),
  fail: ({ definition }, { reason, failureCause }) => ({
    kind: 'failed',
    failure: 'rejected',
    reason: storable(reason),
    error:
      failureCause === undefined
        ? undefined
        : storeError(failureCause, { nonRetryable: definition.retry.nonRetryable }),
  }),
}

function storable(reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : storableText(reason, longestReason)
}

/** The time spent since counts towards the delay. */
export function sooner(outcome: Outcome, ms: number): Outcome {
  return 'delayMs' in outcome ? { ...outcome, delayMs: Math.max(0, outcome.delayMs - ms) } : outcome
}
