import { Execution } from '../execute/execution.ts'
import type { Lease } from '../model/claim.ts'
import { systemClock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import type { Journal } from '../model/journal.ts'
import type { Workflow } from '../model/workflow.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import { CrashFuse } from './crash-fuse.ts'
import { tooLate, within, type History } from './crash-run.ts'
import { Mortal, never } from './mortal.ts'
import { ReplayWatch } from './replay-watch.ts'
import { replaced, withRun } from './with-run.ts'

/** A handler that waits for something else beside its steps has so long. */
const longestMs = 100

export interface Replayed {
  /** Undefined: it did not come to its end, since no body runs. */
  readonly answer: { readonly output: unknown } | undefined
  readonly strayed: string | undefined
}

/** Runs the handler of a run that is done once more, on what was kept: nothing is written, and no body runs. */
export async function replay(workflow: Workflow, { claim, memos }: History): Promise<Replayed> {
  const watch = new ReplayWatch(memos)
  const mortal = new Mortal(new CrashFuse(), watch, systemClock)
  const unkept = { count: 0 }
  const journal = new Proxy({ memos: watch.memos, tries: [], progress: () => undefined } as unknown as Journal, {
    get: (own, name) =>
      Reflect.get(own, name) ??
      (() => {
        unkept.count += 1
        return never()
      }),
  })
  const bodiless = async (): Promise<never> => {
    unkept.count += 1
    return await never()
  }
  const { definition } = withRun(workflow, (run) =>
    mortal.run(
      replaced(run, {
        step: (name, _, options) => run.step(name, bodiless as never, options),
        transaction: (name, _, options) => run.transaction(name, bodiless, options),
      }),
    ),
  )
  const { clock } = mortal
  const execution = new Execution({ definition, claim, journal, lease: unending, clock, log: silentLogger })
  const ending = await within(longestMs, execution.run())
  mortal.die()
  const isDone = ending !== tooLate && ending.outcome.kind === 'done'
  // It stands still at what was not kept.
  if (isDone || unkept.count > 0) watch.ended()
  const { strayed } = watch
  if (!isDone) return { answer: undefined, strayed }
  const { json, types } = ending.outcome.output
  return { answer: { output: decode(json, types) }, strayed }
}

/** Nobody else can take what is not in the database. */
const unending: Lease = {
  expiresAt: new Date('9999-12-31T23:59:59.999Z'),
  extend: () => Promise.resolve(unending.expiresAt),
}
