import { isDeepStrictEqual } from 'node:util'
import type { StartArgs } from '../model/start-item.ts'
import type { Workflow } from '../model/workflow.ts'
import type { History } from './crash-claim.ts'
import { CrashFuse } from './crash-fuse.ts'
import { isAlike, type CrashOutcome, type Ended } from './crash-outcome.ts'
import { replay } from './crash-replay.ts'
import { CrashRuns, type PlayedRun } from './crash-run.ts'
import { CrashSubjects } from './crash-subjects.ts'
import { StepMocks } from './step-mocks.ts'
import { openTestDatabase } from './test-database.ts'
import { parseCrashOptions, type CrashTestOptions } from './testing-options.ts'

/** What a crash at some point did to a run that it should not have. `point` says where its process died. */
export type CrashProblem =
  | {
      /** A step whose outcome was kept ran again. */
      readonly kind: 'ran_again'
      readonly point: string
      readonly step: string
    }
  | {
      /** The handler took another way than the one on record: at this step what it asks for is not what was kept. */
      readonly kind: 'divergence'
      readonly point: string
      readonly step: string
    }
  | {
      /** The run ended in another way than without a crash; or its handler, run once more on what it kept, answers other. */
      readonly kind: 'other_outcome'
      readonly point: string
      readonly expected: CrashOutcome
      readonly got: CrashOutcome
    }
  | {
      /** The run did not end: it waits for what does not come, or a claim took longer than `timeout`. */
      readonly kind: 'stuck'
      readonly point: string
    }

/** What `crashTest` found. */
export interface CrashReport {
  /** At how many points a process was killed. */
  readonly points: number
  /** None: the workflow survives a crash at each of them. */
  readonly problems: readonly CrashProblem[]
  /** How the run ends without a crash; undefined: it does not. */
  readonly outcome: CrashOutcome | undefined
}

const noCrash = 'without a crash'

/**
 * Finds out whether a workflow survives a crash anywhere: runs it once without one, then once for each point at which its
 * process may die, kills it there, and lets the run go on under another claim. Those points are before and after each
 * commit, each body of a step and each end of a claim, and where the handler goes on after a call on `run`; the same in the
 * runs of its children, in those that go on where it ended, and in those that undo one of them. Time moves to whatever is
 * due. A step whose outcome was not kept yet may run again; nothing else may differ.
 *
 * A killed claim is no attempt that counts against `maxAttempts`, but `run.attempt` rises with it. Limits are left out.
 *
 * @throws What `createTestRuntime` throws, what `client.start` throws for the input and `client.signal` for a signal;
 *   ArgumentError if a child's workflow is missing in `workflows`.
 */
export async function crashTest<I>(
  // oxlint-disable-next-line typescript/no-explicit-any -- what its handler gets does not matter here
  workflow: Workflow<I, any, unknown>,
  ...[input, options]: StartArgs<I, CrashTestOptions>
): Promise<CrashReport> {
  const { connectionString, maxPoints, timeout: timeoutMs, prepare, ...plan } = parseCrashOptions(options)
  const { workflows, signals, answers } = plan
  const database = await openTestDatabase({ connectionString, logger: undefined, workflows: [] })
  try {
    const mocks = new StepMocks()
    await prepare?.({
      client: database.client,
      connectionString: database.connectionString,
      mockStep: (name, how, mockOptions) => mocks.add(name, how, mockOptions),
    })
    const subjects = new CrashSubjects(workflow, workflows, mocks)
    const runs = new CrashRuns({ database, subjects, input, signals, answers, timeoutMs })
    return await crashEverywhere(runs, maxPoints)
  } finally {
    await database.close()
  }
}

async function crashEverywhere(runs: CrashRuns, maxPoints: number): Promise<CrashReport> {
  const fuse = new CrashFuse()
  const first = await runs.play(fuse)
  const second = await runs.play(new CrashFuse())
  if (!first.ended || !second.ended)
    return { points: 0, problems: [{ kind: 'stuck', point: noCrash }], outcome: undefined }
  const { outcome } = first.ended
  const judge = new Judge(first.ended, second.ended)
  const problems = [...(await judge.problems(noCrash, first)), ...(await judge.problems(noCrash, second))]
  const points = spread(fuse.count, maxPoints)
  for (const point of points) {
    const crash = new CrashFuse(point)
    const played = await runs.play(crash)
    problems.push(...(await judge.problems(`${point} of ${fuse.count}: ${crash.where ?? 'not reached'}`, played)))
  }
  return { points: points.length, problems, outcome }
}

/** Judges a run by two that no crash befell. */
class Judge {
  readonly #first: Ended
  readonly #second: Ended

  constructor(first: Ended, second: Ended) {
    this.#first = first
    this.#second = second
  }

  async problems(point: string, { ended, histories, ranAgain, strayed }: PlayedRun): Promise<CrashProblem[]> {
    const problems: CrashProblem[] = ranAgain.map((step) => ({ kind: 'ran_again', point, step }))
    const replays = await Promise.all(histories.map(async (history) => ({ history, replayed: await replay(history) })))
    const step = strayed ?? replays.find(({ replayed }) => replayed.strayed !== undefined)?.replayed.strayed
    if (step !== undefined) problems.push({ kind: 'divergence', point, step })
    if (!ended) return [...problems, { kind: 'stuck', point }]
    if (!isAlike(this.#first, this.#second, ended)) {
      return [...problems, { kind: 'other_outcome', point, expected: this.#first.outcome, got: ended.outcome }]
    }
    const other = replays.find(({ history, replayed }) => isOther(history.answer, replayed.answer))
    if (!other) return problems
    const [expected, got] = [doneWith(other.history.answer), doneWith(other.replayed.answer)]
    return [...problems, { kind: 'other_outcome', point, expected, got }]
  }
}

type Answer = History['answer']

function isOther(first: Answer, second: Answer): boolean {
  return first !== undefined && second !== undefined && !isDeepStrictEqual(first.output, second.output)
}

function doneWith(answer: Answer): CrashOutcome {
  return { state: 'done', output: answer?.output, failure: undefined, reason: undefined, rollback: undefined }
}

/** At most so many of the points, evenly. */
function spread(count: number, most: number): number[] {
  const length = Math.min(count, most)
  return Array.from({ length }, (_, index) => 1 + Math.floor((index * count) / length))
}
