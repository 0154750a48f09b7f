import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createWorker, defineWorkflow, type Client, type Worker } from '../../src/index.ts'
import { signal } from '../support/worker.ts'
import { useContainer } from './use-container.ts'

const container = useContainer()
const slots = 8

/** Where handlers stop between two steps, until the test lets those there go on. */
class Gate {
  readonly #full = signal()
  readonly #open = signal()
  #count = 0

  /** Resolves once every slot's handler is here. */
  readonly full = this.#full.promise

  pass(): Promise<void> {
    this.#count += 1
    if (this.#count === slots) this.#full.give()
    return this.#open.promise
  }

  open(): void {
    this.#open.give()
  }
}

let gate: Gate
let loss = signal()
/** How often the body of each step of each run was entered. */
let entered: Map<string, number>
let client: Client
let worker: Worker

function enter(run: number, step: string, answer: number): number {
  const name = `${run} ${step}`
  entered.set(name, (entered.get(name) ?? 0) + 1)
  return answer
}

const threeSteps = defineWorkflow({
  name: 'three steps',
  input: z.number(),
  handler: async (number, run) => {
    const first = await run.step('first', () => enter(number, 'first', number))
    await gate.pass()
    const second = await run.step('second', () => enter(number, 'second', first + 1))
    const third = await run.step('third', () => enter(number, 'third', second + 1))
    return [first, second, third]
  },
})

beforeEach(async () => {
  gate = new Gate()
  loss = signal()
  entered = new Map()
  const { connectionString } = container
  client = createClient({ connectionString })
  const ignore = (): void => undefined
  const warn = (_: unknown, message: string): void => {
    if (message.includes('lost its connection')) loss.give()
  }
  worker = createWorker({
    connectionString,
    workflows: [threeSteps],
    concurrency: slots,
    logger: { debug: ignore, info: ignore, warn, error: ignore },
  })
  await worker.start()
})

afterEach(async () => {
  gate.open()
  await worker.stop()
  await client.close()
})

const startAll = (numbers: readonly number[]) =>
  Promise.all(numbers.map(async (number) => ({ number, run: await client.start(threeSteps, number) })))

test('an empty database in a container is migrated by its first client, and runs a workflow to its end', async () => {
  gate.open()
  const started = await client.start(threeSteps, 1)
  expect(await client.result(started)).toEqual([1, 2, 3])
})

test('every acknowledged run ends, with no step entered twice, when the container is killed twice under them', async () => {
  const all = await startAll(Array.from({ length: slots * 3 }, (_, number) => number))
  for (const late of [1_000, 2_000]) {
    await gate.full
    const here = gate
    gate = new Gate()
    loss = signal()
    const back = container.killAndStart()
    await loss.promise
    // From here on their steps are to be kept by a server that is gone.
    here.open()
    all.push(...(await startAll([late, late + 1, late + 2])))
    await back
  }
  await gate.full
  gate.open()

  const ends = await Promise.all(all.map(({ run }) => client.result(run)))
  expect(ends).toEqual(all.map(({ number }) => [number, number + 1, number + 2]))
  const names = all.flatMap(({ number }) => ['first', 'second', 'third'].map((step) => `${number} ${step}`))
  expect(names.filter((name) => entered.get(name) !== 1)).toEqual([])
  const views = await Promise.all(all.map(({ run }) => client.get(run)))
  expect(views.filter((view) => view?.attempt !== 1)).toEqual([])
})
