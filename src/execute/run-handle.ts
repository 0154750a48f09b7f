import type { Claim, Lease } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import { encode } from '../model/codec.ts'
import { Directive, type Steer } from '../model/directive.ts'
import { parseDuration } from '../model/duration.ts'
import { ArgumentError, LeaseLostError } from '../model/errors.ts'
import { uuidv4 } from '../model/id.ts'
import type { Journal } from '../model/journal.ts'
import type { Logger } from '../model/logger.ts'
import type { Run, WaitOptions } from '../model/run.ts'
import type { Signal } from '../model/signal.ts'
import type { Workflow } from '../model/workflow.ts'
import type { Scope } from './scope.ts'
import type { Operations } from './operations.ts'

export interface RunHandleOptions {
  readonly claim: Claim
  readonly journal: Journal
  readonly lease: Lease
  readonly scope: Scope
  readonly operations: () => Operations
  readonly clock: Clock
  readonly log: Logger
  readonly onDirective: (directive: Directive) => void
  readonly onLost: (error: LeaseLostError) => void
}

const maxProgressBytes = 64 * 1024

/** Makes the `run` that a handler gets. Its functions can be taken off it and passed on. */
export function createRunHandle(options: RunHandleOptions): Run {
  const { claim, journal, lease, scope, operations, clock, log, onDirective, onLost } = options
  const steer = (how: Steer): Directive => {
    const directive = new Directive(how)
    onDirective(directive)
    return directive
  }
  return {
    id: claim.id,
    key: claim.key,
    workflow: claim.workflow,
    group: claim.group,
    attempt: claim.attempt,
    maxAttempts: claim.maxAttempts,
    metadata: claim.metadata,
    get leaseExpiresAt() {
      return lease.expiresAt
    },
    get abortSignal() {
      return scope.abortSignal
    },
    log,
    step: (name, fn, stepOptions) => operations().steps.step(name, fn, stepOptions) as never,
    transaction: (name, fn, stepOptions) => operations().steps.transaction(name, fn, stepOptions) as never,
    now: () => operations().steps.value('[now]', () => new Date(clock.wallClock())) as Promise<Date>,
    random: () => operations().steps.value('[random]', () => clock.random()) as Promise<number>,
    uuid: () => operations().steps.value('[uuid]', () => uuidv4(clock)) as Promise<string>,
    sleep: (name, duration) => operations().waits.sleep(name, duration) as Promise<void>,
    sleepUntil: (name, at) => operations().waits.sleepUntil(name, at) as Promise<void>,
    waitFor: (signal: Signal | string, waitOptions?: WaitOptions) =>
      operations().waits.waitFor(signal, waitOptions) as never,
    park: (name, parkOptions) => operations().waits.park(name, parkOptions),
    call: (workflow, ...[input, childOptions]) =>
      operations().children.make('call', workflow as Workflow, input, childOptions) as never,
    start: (workflow, ...[input, childOptions]) =>
      operations().children.make('start', workflow as Workflow, input, childOptions) as never,
    map: (name, items, fn, mapOptions) => operations().map(name, items, fn, mapOptions),
    version: (name, min, max) => operations().version(name, min, max),
    progress: (value) => {
      const encoded = encode(value, 'progress', { maxBytes: maxProgressBytes })
      if (!scope.isOver) journal.progress(encoded)
    },
    extend: async (duration) => {
      const ms = parseDuration(duration, 'lease')
      scope.requireOpen()
      try {
        return await lease.extend(ms)
      } catch (error) {
        if (error instanceof LeaseLostError) onLost(error)
        throw error
      }
    },
    retry: (after, reason) =>
      steer({
        kind: 'retry',
        delayMs: after === undefined ? undefined : parseDuration(after, 'after'),
        reason: readReason(reason),
      }),
    snooze: (after, reason) =>
      steer({ kind: 'snooze', delayMs: parseDuration(after, 'after'), reason: readReason(reason) }),
    fail: (reason, { cause } = {}) =>
      steer({ kind: 'fail', reason: readReason(reason) ?? 'No reason was given.', failureCause: cause }),
    continueAs: (input) => steer({ kind: 'continue', input }),
  }
}

function readReason(reason: unknown): string | undefined {
  if (reason === undefined || typeof reason === 'string') return reason
  throw new ArgumentError(`A reason is a text, not ${reason === null ? 'null' : `a ${typeof reason}`}.`, {
    field: 'reason',
    remedy: 'Give a text; an error goes into { cause }.',
  })
}
