import { ConfigError } from '../model/errors.ts'
import type { Definition, ResolvedLimits } from '../model/workflow.ts'
import { fingerprintOf } from './fingerprint.ts'
import { createOptionReader } from './option-reader.ts'
import { workflowOptions } from './workflow-options.ts'
import type { ReadWorkflowOptions } from './workflow-options.ts'

const readOptions = createOptionReader(workflowOptions, ConfigError)

/** Checks each option and what they say together, and fills in every default. */
export function parseWorkflowOptions(given: unknown): Definition {
  const subject = subjectOf(given)
  const options = readOptions(given, subject)
  for (const rule of rules) {
    const broken = rule(options)
    if (broken) throw new ConfigError(`${subject}: ${broken.what}`, broken)
  }
  const policy: Omit<Definition, 'fingerprint'> = {
    name: options.name,
    input: options.input,
    output: options.output,
    handler: options.handler,
    retry: options.retry,
    maxAttempts: options.maxAttempts,
    timeoutMs: options.timeout,
    deadlineMs: options.deadline,
    leaseMs: options.lease,
    maxLeaseMs: options.maxLease,
    priority: options.priority,
    // a run that went before its key is free would take the key's meaning with it
    keepMs: Math.max(options.keep, options.dedupe),
    keepDoneMs: Math.max(options.keepDone, options.dedupe),
    dedupeMs: options.dedupe,
    maxWaiting: options.maxWaiting,
    maxSteps: options.maxSteps,
    onMismatch: options.onMismatch,
    errors: Object.freeze([...options.errors]),
    group: options.group,
    limits: resolveLimits(options),
    schedule: options.schedule,
  }
  return Object.freeze({ ...policy, fingerprint: fingerprintOf(policy) })
}

function subjectOf(given: unknown): string {
  const name: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'name') : undefined
  return typeof name === 'string' && name.length <= 128 ? `workflow '${name}'` : 'defineWorkflow'
}

function resolveLimits({ concurrency, rate, fair }: ReadWorkflowOptions): ResolvedLimits {
  return Object.freeze({
    concurrency: concurrency?.limit,
    concurrencyPerGroup: concurrency?.perGroup,
    rate: rate?.limit,
    ratePerGroup: rate?.perGroup,
    isFair: fair,
  })
}

interface Broken {
  readonly what: string
  readonly field: string
  readonly remedy: string
}

const needsGroup = (field: string): Broken => ({
  what: `${field} has no group to count by.`,
  field,
  remedy: `Give group: a function from the input to the name of its group, or leave ${field} out.`,
})

/** What options must say together. */
const rules: readonly ((options: ReadWorkflowOptions) => Broken | undefined)[] = [
  ({ group, concurrency }) => (!group && concurrency?.perGroup ? needsGroup('concurrency.perGroup') : undefined),
  ({ group, rate }) => (!group && rate?.perGroup ? needsGroup('rate.perGroup') : undefined),
  ({ group, fair }) => (!group && fair ? needsGroup('fair') : undefined),
  ({ lease, maxLease }) =>
    lease > maxLease
      ? {
          what: `lease of ${lease} ms is longer than maxLease of ${maxLease} ms.`,
          field: 'lease',
          remedy: 'Give a lease of at most maxLease, or a longer maxLease.',
        }
      : undefined,
]
