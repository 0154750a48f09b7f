import { expect, test } from 'vitest'
import { defineWorkflow, VersionError, type Run, type Workflow } from '../../src/index.ts'
import { recordingLogger } from '../support/worker.ts'
import { MemoryRun } from './memory-run.ts'

/** What a release of the code says of its places: between two steps each, the versions that it knows. */
type Release = Readonly<Record<string, readonly [min: number, max: number]>>

/** Its places are v1 and v2, one right after the other; the first sleep is before them, the second after. */
function code(release: Release): Workflow {
  const place = async (run: Run, name: string): Promise<string> => {
    const range = release[name]
    return range ? `${name}=${await run.version(name, ...range)}` : `${name}=none`
  }
  return defineWorkflow({
    name: 'places',
    onMismatch: 'fail',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step('before', () => 1)
      await run.sleep('first', '1h')
      const went = [await place(run, 'v1'), await place(run, 'v2')]
      await run.step('after', () => 1)
      await run.sleep('second', '1h')
      await run.step('last', () => 1)
      return went.join(' ')
    },
  })
}

/** Claims under each release in turn, until the run is done or failed. */
async function deploy(...releases: readonly Release[]): Promise<unknown> {
  const logger = recordingLogger()
  const run = new MemoryRun({ logger })
  for (const release of releases) {
    const outcome = (await run.claim(code(release)))?.outcome
    if (outcome?.kind === 'done') return JSON.parse(outcome.output.json)
    if (outcome?.kind === 'retry') return outcome.error?.name
    expect(outcome?.kind).toBe('suspended')
  }
  return undefined
}

// A run comes to rest twice: before its places, and after them.
const both: Release = { v1: [1, 2], v2: [1, 1] }
const matrix: readonly (readonly [what: string, releases: readonly Release[], went: unknown])[] = [
  ['added before the run came there: it goes the newest', [{}, { v1: [1, 2] }, { v1: [1, 2] }], 'v1=2 v2=none'],
  ['added after it went past: it goes the oldest', [{}, {}, { v1: [1, 2] }], 'v1=1 v2=none'],
  ['kept: it goes what it went', [both, both, both], 'v1=2 v2=1'],
  ['raised after it went past: it goes what it went', [both, both, { ...both, v1: [1, 3] }], 'v1=2 v2=1'],
  [
    'raised before it came there: it goes the newest',
    [both, { v1: [1, 3], v2: [1, 1] }, { ...both, v1: [1, 3] }],
    'v1=3 v2=1',
  ],
  ['retired below what it went: it goes on', [both, both, { v1: [2, 2], v2: [1, 1] }], 'v1=2 v2=1'],
  ['retired past what it went: it is told', [both, both, { v1: [3, 3], v2: [1, 1] }], 'VersionError'],
  ['removed after it went past: it goes on', [both, both, { v2: [1, 1] }], 'v1=none v2=1'],
  ['removed, and the next one retired', [both, both, { v2: [1, 2] }], 'v1=none v2=1'],
  ['removed, and the next one raised at once', [both, both, { v2: [1, 3] }], 'v1=none v2=1'],
  ['kept, and the next one removed', [both, both, { v1: [1, 2] }], 'v1=2 v2=none'],
  ['both removed at once', [both, both, {}], 'v1=none v2=none'],
  ['both added after it went past', [{}, {}, { v1: [1, 2], v2: [1, 7] }], 'v1=1 v2=1'],
  ['added without the way before it', [{}, {}, { v1: [1, 2], v2: [2, 7] }], 'VersionError'],
  ['both added before it came there', [{}, { v1: [1, 2], v2: [4, 7] }, { v1: [1, 2], v2: [4, 7] }], 'v1=2 v2=7'],
  ['one kept and another added beside it', [{ v2: [1, 2] }, { v2: [1, 2] }, { v1: [1, 2], v2: [1, 2] }], 'v1=1 v2=2'],
]

test.each(matrix)('I7: a place with versions %s', async (_, releases, went) => {
  expect(await deploy(...releases)).toEqual(went)
})

test('I7: its key is its own, and wrong bounds are refused', async () => {
  const refused: unknown[] = []
  const workflow = defineWorkflow({
    name: 'bounds',
    handler: async (_, run) => {
      for (const [min, max] of [
        [2, 1],
        [0, 1],
        [1.5, 2],
        [Number.NaN, 1],
      ] as const) {
        await run.version('v', min, max).catch((error: unknown) => refused.push((error as { code?: string }).code))
      }
      return [await run.version('v', 1, 4), await run.version('v', 2, 3), await run.step('v', (step) => step.key)]
    },
  })
  const run = new MemoryRun()
  expect((await run.claim(workflow))?.outcome).toMatchObject({ output: { json: '[4,3,"v"]' } })
  expect(refused).toEqual(['ARGUMENT', 'ARGUMENT', 'ARGUMENT', 'ARGUMENT'])
  expect((await run.memos()).map(({ key }) => key)).toEqual(['[version]v', '[version]v#2', 'v'])
})

test('I7: a version that is not known any more costs an attempt, so that a deploy can bring it back', async () => {
  const run = new MemoryRun()
  const at = (min: number, max: number): Workflow =>
    defineWorkflow({
      name: 'comes back',
      retry: { initial: 0 },
      handler: async (_, handle) => {
        const version = await handle.version('v', min, max)
        await handle.sleep('rest', '1h')
        return version
      },
    })
  await run.claim(at(1, 2))
  expect((await run.claim(at(3, 3)))?.outcome).toMatchObject({ kind: 'retry', error: { name: VersionError.name } })
  expect((await run.claim(at(2, 3)))?.outcome).toMatchObject({ kind: 'done', output: { json: '2' } })
})

test('a run that is new goes the newest way, wherever it dies beside other steps', async () => {
  const workflow = defineWorkflow({
    name: 'beside',
    handler: async (_, run) => {
      const [version] = await Promise.all([run.version('place', 1, 2), run.step('beside', () => 3)])
      return version
    },
  })
  for (let turns = 1; turns <= 20; turns += 1) {
    // The version takes longer to be kept than the step beside it.
    const run = new MemoryRun({ turnsToKeep: [5, 1] })
    const end = (await run.claim(workflow, { death: { turns } })) ?? (await run.claim(workflow))
    expect(end?.outcome).toMatchObject({ kind: 'done', output: { json: '2' } })
  }
})
