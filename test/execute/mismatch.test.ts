import { describe, expect, test } from 'vitest'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import type { Memo } from '../../src/model/journal.ts'
import type { Outcome } from '../../src/model/outcome.ts'
import type { OnMismatch } from '../../src/model/workflow.ts'
import { recordingLogger } from '../support/worker.ts'
import { MemoryRun } from './memory-run.ts'

/** A handler whose code goes another way than what was kept of its run. */

type Handler = (run: Run) => Promise<unknown>

const step = (run: Run, name: string): Promise<string> => run.step(name, () => name)

async function inOrder(run: Run, ...names: readonly string[]): Promise<void> {
  for (const name of names) await step(run, name)
}

function workflowOf(handler: Handler, onMismatch: OnMismatch = 'warn'): Workflow {
  return defineWorkflow({ name: 'changes', onMismatch, maxAttempts: 5, handler: (_, run) => handler(run) })
}

/** What a run kept until it came to rest, or ended: of the steps, while its waits are open. */
async function recordOf(handler: Handler): Promise<readonly Memo[]> {
  const run = new MemoryRun()
  await run.claim(workflowOf(handler))
  return (await run.memos()).filter(({ key }) => key !== 'word')
}

async function replay(
  memos: readonly Memo[],
  handler: Handler,
  onMismatch?: OnMismatch,
): Promise<{ readonly outcome: Outcome | undefined; readonly verdicts: readonly string[]; readonly run: MemoryRun }> {
  const logger = recordingLogger()
  const run = new MemoryRun({ memos, logger })
  const ending = await run.claim(workflowOf(handler, onMismatch))
  const verdicts = logger.lines.filter(({ message }) => message.includes('another way than its record'))
  return { outcome: ending?.outcome, verdicts: verdicts.map(({ fields }) => String(fields['step'])), run }
}

const rest = (run: Run): Promise<void> => run.sleep('rest', '1h')

const changes: Readonly<Record<string, readonly [before: Handler, after: Handler, named: string]>> = {
  'a step inserted before kept ones': [(run) => inOrder(run, 'a', 'b'), (run) => inOrder(run, 'new', 'a', 'b'), 'new'],
  'a step inserted between kept ones': [(run) => inOrder(run, 'a', 'b'), (run) => inOrder(run, 'a', 'new', 'b'), 'new'],
  'a step removed, with a new one after': [
    (run) => inOrder(run, 'a', 'b', 'c'),
    (run) => inOrder(run, 'a', 'c', 'new'),
    'new',
  ],
  'a step removed beside a wait that is open': [
    (run) => Promise.all([run.waitFor('word'), inOrder(run, 'a', 'b')]),
    (run) => Promise.all([run.waitFor('word'), inOrder(run, 'a')]),
    'b',
  ],
  'a step renamed': [(run) => inOrder(run, 'a', 'b'), (run) => inOrder(run, 'a', 'better b'), 'better b'],
  'a branch that changed': [
    (run) => inOrder(run, 'decide', 'left', 'left more'),
    (run) => inOrder(run, 'decide', 'right'),
    'right',
  ],
  'a wait inserted before kept steps': [
    (run) => inOrder(run, 'a', 'b'),
    (run) =>
      step(run, 'a')
        .then(() => rest(run))
        .then(() => step(run, 'b')),
    'rest',
  ],
  'an iteration less, and something new': [
    (run) => inOrder(run, 'item', 'item', 'item'),
    (run) => inOrder(run, 'item', 'item', 'new'),
    'new',
  ],
}

describe.each(Object.entries(changes))('%s', (_, [before, after, named]) => {
  test("I1: is told once and goes on under onMismatch: 'warn'", async () => {
    const { outcome, verdicts } = await replay(await recordOf(before), after)
    expect(verdicts).toEqual([named])
    expect(['done', 'suspended']).toContain(outcome?.kind)
  })

  test("I1: fails the run under onMismatch: 'fail', and no body runs", async () => {
    const bodies: string[] = []
    const logged: Handler = (run) =>
      after({
        ...run,
        step: (name: string, fn: () => string) =>
          run.step(name, () => {
            bodies.push(name)
            return fn()
          }),
      } as Run)
    const { outcome } = await replay(await recordOf(before), logged, 'fail')
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'rejected', error: { name: 'MismatchError' } })
    expect(bodies).toEqual([])
  })

  test("I1: parks the run under onMismatch: 'park', which goes on under code that fits", async () => {
    const { outcome, run } = await replay(await recordOf(before), after, 'park')
    expect(outcome).toEqual({ kind: 'suspended', wakeMs: undefined, isParked: true })
    let next = await run.claim(workflowOf(before, 'park'))
    // Beside the person's answer it may wait for something of its own.
    if (next?.outcome.kind === 'suspended') next = await run.claim(workflowOf(before, 'park'))
    expect(next?.outcome.kind).toBe('done')
    expect((await run.memos()).map(({ key }) => key)).toContain('[mismatch]1')
  })
})

test('I1: a step that was kept is recalled wherever it stands now, when nothing new begins before it', async () => {
  const memos = await recordOf((run) => inOrder(run, 'a', 'b'))
  const { outcome, verdicts } = await replay(memos, (run) => inOrder(run, 'b', 'a', 'new at the end'))
  expect(outcome?.kind).toBe('done')
  expect(verdicts).toEqual([])
})

const healthy: Readonly<Record<string, Handler>> = {
  'steps in parallel': (run) => Promise.all(['a', 'b', 'c'].map((name) => step(run, name))),
  'chains in parallel': (run) => Promise.all([inOrder(run, 'a', 'b', 'c'), inOrder(run, 'd', 'e'), inOrder(run, 'f')]),
  'a race whose loser never ended': async (run) => {
    await Promise.race([run.step('never', () => new Promise(() => undefined)), step(run, 'fast')])
    await inOrder(run, 'a', 'b')
  },
  'a race with a wait': async (run) => {
    await Promise.race([run.waitFor('word'), step(run, 'fast')])
    await inOrder(run, 'a', 'b')
  },
  'errors that are caught': async (run) => {
    await run.step('fails', () => Promise.reject(new Error('caught'))).catch(() => step(run, 'instead'))
    await step(run, 'after')
  },
  'a step that nobody awaits': async (run) => {
    void step(run, 'floating')
    await inOrder(run, 'a', 'b')
  },
  'items of a map': (run) => run.map('all', [1, 2, 3], (n) => inOrder(run, 'x', `y${n}`), { concurrency: 2 }),
  'waits between steps': async (run) => {
    await step(run, 'a')
    await rest(run)
    await Promise.all([run.sleep('one', 1), run.sleep('two', 2).then(() => step(run, 'b'))])
    await step(run, 'c')
  },
  versions: async (run) => {
    if ((await run.version('v', 1, 2)) > 1) await step(run, 'a')
    await run.version('w', 1, 1)
    await step(run, 'b')
  },
}

test.each(Object.entries(healthy))('I1: %s get no verdict, wherever the process dies', async (_, handler) => {
  const workflow = workflowOf(handler, 'fail')
  for (let death = 0; death < 40; death += 1) {
    const logger = recordingLogger()
    const run = new MemoryRun({ logger })
    if (death > 0) await run.claim(workflow, { death: { turns: death } })
    for (let claim = 0; claim < 8; claim += 1) {
      const ending = await run.claim(workflow)
      expect(ending?.outcome.kind).toMatch(/done|suspended/)
      if (ending?.outcome.kind === 'done') break
    }
    expect(logger.lines.filter(({ level }) => level !== 'debug')).toEqual([])
  }
})
