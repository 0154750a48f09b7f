import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { loseWorker, quickTimings } from '../attempts/record.ts'
import { turn } from '../execute/turn.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

async function keptOf(id: string): Promise<string[]> {
  const { rows } = await database.query<{ key: string }>('select key from holdfast.steps where run_id = $1', [id])
  return rows.map(({ key }) => key)
}

/** A step called `link` that takes so many turns of the event loop and answers with the label of its call. */
type Link = (label: string, turns: number) => Promise<string>

async function chain(link: Link, name: string, turns: readonly number[]): Promise<string[]> {
  const answers: string[] = []
  for (const [index, each] of turns.entries()) answers.push(await link(`${name}${index}`, each))
  return answers
}

/** All its calls have one name. */
const wholeProgram = async (link: Link): Promise<string[]> =>
  (
    await Promise.all([
      chain(link, 'slow first ', [30, 0, 0]),
      chain(link, 'quick first ', [0, 9, 0]),
      ...[5, 0, 2].map((turns) => link(`parallel ${turns}`, turns).then((answer) => [answer])),
    ])
  )
    .flat()
    .concat(await chain(link, 'loop ', [0, 1, 0]))

const labels = [
  ...[0, 1, 2].map((index) => `slow first ${index}`),
  ...[0, 1, 2].map((index) => `quick first ${index}`),
  ...[5, 0, 2].map((turns) => `parallel ${turns}`),
  ...[0, 1, 2].map((index) => `loop ${index}`),
]

test.each(['throws', 'loses its lease'])(
  'STEP-04: each call gets its own answer when its claim %s after any number of kept steps',
  async (how) => {
    const finished: string[] = []
    const dying = new Map(labels.map((_, kept) => [kept, signal<string>()]))
    const workflow = defineWorkflow({
      name: how,
      lease: '1.5s',
      input: z.number(),
      retry: { initial: 0 },
      handler: async (kept, run) => {
        let begun = 0
        return await wholeProgram((label, turns) =>
          run.step('link', async () => {
            begun += 1
            if (run.attempt === 1 && begun > kept) {
              dying.get(kept)?.give(run.id)
              if (how === 'throws') throw new Error('dies')
              await new Promise(() => undefined)
            }
            for (let left = turns; left > 0; left -= 1) await turn()
            finished.push(`${kept} ${label}`)
            return label
          }),
        )
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [workflow], timings: quickTimings })
    for (const [kept, died] of dying) {
      const run = await client.start(workflow, kept)
      await died.promise
      if (how === 'loses its lease') {
        await expect.poll(() => keptOf(run.id), { interval: 5 }).toHaveLength(kept)
        await loseWorker(database, run)
      }
      expect(await client.result(run)).toEqual(labels)
      expect(await client.get(run)).toMatchObject({ attempt: 2 })
      expect(await keptOf(run.id)).toHaveLength(labels.length)
    }
    expect(finished.toSorted()).toEqual(
      [...dying.keys()].flatMap((kept) => labels.map((each) => `${kept} ${each}`)).toSorted(),
    )
  },
)

test.each([2, 50])(
  'STEP-07: of %d parallel steps each is kept by itself, however long another takes',
  async (count) => {
    const began = Array.from({ length: count }, () => 0)
    const last = count - 1
    const workflow = defineWorkflow({
      name: `parallel ${count}`,
      lease: '1.5s',
      handler: (_, run) =>
        Promise.all(
          began.map((__, index) =>
            run.step(`step ${index}`, async () => {
              began[index] = (began[index] ?? 0) + 1
              if (index === last && run.attempt === 1) await new Promise(() => undefined)
              return index
            }),
          ),
        ),
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [workflow], timings: quickTimings })
    const run = await client.start(workflow)
    await expect.poll(() => keptOf(run.id)).toHaveLength(last)
    await loseWorker(database, run)
    expect(await client.result(run)).toEqual(began.map((_, index) => index))
    expect(began).toEqual(began.map((_, index) => (index === last ? 2 : 1)))
    expect(await keptOf(run.id)).toHaveLength(count)
  },
)

test.each([2, 50])('STEP-07: of %d parallel steps the others finish and are kept when one fails', async (count) => {
  const began = Array.from({ length: count }, () => 0)
  const goOn = signal()
  const workflow = defineWorkflow({
    name: `one of ${count} fails`,
    retry: { initial: 0 },
    handler: async (_, run) => {
      const all = began.map((__, index) =>
        run.step('step', async () => {
          began[index] = (began[index] ?? 0) + 1
          if (index === 0 && run.attempt === 1) throw new Error('fails first')
          await goOn.promise
          return index
        }),
      )
      return await Promise.all(all).catch((error: unknown) => {
        goOn.give()
        throw error
      })
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  expect(await client.result(run)).toEqual(began.map((_, index) => index))
  expect(began).toEqual(began.map((_, index) => (index === 0 ? 2 : 1)))
})

/** What becomes of the race's loser before the claim ends. */
const losers: Readonly<Record<string, (run: Run, loser: Promise<string>, letGo: () => void) => Promise<unknown>>> = {
  'was kept after the winner': async (_, loser, letGo) => {
    letGo()
    await loser
    throw new Error('once more')
  },
  'is under way when the handler ends': async (run, _, letGo) => {
    await run.step('next', () => 'next')
    letGo()
    throw new Error('once more')
  },
}

test.each(Object.entries(losers))(
  'STEP-07: the winner of a race is the same on every replay, also if the loser %s',
  async (name, goOn) => {
    const begun: string[] = []
    const winners: string[] = []
    const slow = signal()
    const workflow = defineWorkflow({
      name,
      retry: { initial: 0 },
      handler: async (_, run) => {
        const loser = run.step('slow', async () => {
          begun.push('slow')
          await slow.promise
          return 'slow'
        })
        const quick = run.step('quick', () => {
          begun.push('quick')
          return 'quick'
        })
        winners.push(await Promise.race([loser, quick]))
        if (run.attempt === 1) await goOn(run, loser, slow.give)
        return [await loser, await quick]
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [workflow], timings: quickTimings })
    expect(await client.result(await client.start(workflow))).toEqual(['slow', 'quick'])
    expect(winners).toEqual(['quick', 'quick'])
    expect(begun).toEqual(['slow', 'quick'])
  },
)
