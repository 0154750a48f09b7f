import { Execution } from '../execute/execution.ts'
import type { Lease } from '../model/claim.ts'
import { systemClock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import type { Journal } from '../model/journal.ts'
import { untracedClaim } from '../trace/untraced.ts'
import { tooLate, within, type History } from './crash-claim.ts'
import { CrashFuse } from './crash-fuse.ts'
import { Mortal, never } from './mortal.ts'
import { StrayLog } from './stray-log.ts'
import { withRun } from './with-run.ts'

/** A handler that waits for something else beside its steps has so long. */
const longestMs = 100

export interface Replayed {
  /** Undefined: it did not come to its end, since no body runs; or another run goes on. */
  readonly answer: History['answer']
  readonly strayed: string | undefined
}

/** Runs the handler of a run that is done once more, on what was kept: nothing is written, and no body runs. */
export async function replay({ workflow, claim, memos }: History): Promise<Replayed> {
  const mortal = new Mortal(new CrashFuse(), systemClock, '')
  const { definition } = withRun(workflow, (run) => mortal.run(run))
  const { clock } = mortal
  const log = new StrayLog()
  const journal: Journal = {
    memos,
    tries: [],
    isRecorded: true,
    keep: never,
    transact: never,
    open: never,
    progress: () => undefined,
  }
  const execution = new Execution({ definition, claim, journal, lease: unending, clock, log, trace: untracedClaim })
  const ending = await within(longestMs, execution.run())
  mortal.die()
  if (ending === tooLate) return { answer: undefined, strayed: log.step }
  const { outcome } = ending
  const isDone = outcome.kind === 'done' || outcome.kind === 'continued'
  return {
    answer: outcome.kind === 'done' ? { output: decode(outcome.output.json, outcome.output.types) } : undefined,
    strayed: log.step ?? (isDone ? execution.unread[0]?.key : undefined),
  }
}

/** Nobody else can take what is not in the database. */
const unending: Lease = {
  expiresAt: new Date('9999-12-31T23:59:59.999Z'),
  extend: () => Promise.resolve(unending.expiresAt),
}
