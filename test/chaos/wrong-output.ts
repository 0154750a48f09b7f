import type { FinalRun } from './evidence.ts'
import type { Indexed } from './indexed.ts'
import { stepKeys, type VoyageOutput } from './workflows.ts'

/** What is wrong with the way a run ended; undefined: nothing. */
export function wrongOutput(
  { memosOf }: Indexed,
  { id, state, output, reason }: FinalRun,
  index: number,
): string | undefined {
  if (state !== 'done') return `the run has ${state}: ${reason}`
  if (output === null) return 'the run has no output.'
  const memos = new Map((memosOf.get(id) ?? []).map(({ key, value }) => [key, JSON.parse(value) as unknown]))
  const expected: unknown = { index, answers: Object.fromEntries(stepKeys.map((key) => [key, memos.get(key)])) }
  const answered = JSON.parse(output) as VoyageOutput
  if (JSON.stringify(answered) === JSON.stringify(expected)) return undefined
  return `the output is ${output}; by its memos it should be ${JSON.stringify(expected)}.`
}
