import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'

/** Ways in which a handler, a step or a value can go wrong, each for a run of its own. */

function fault(): never {
  throw new Error('as it must')
}

function cyclic(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

class Own {
  secret = 1
}

/** What cannot be stored, or stored and given back the same. */
const unstorable: Readonly<Record<string, () => unknown>> = {
  'a function': () => fault,
  'a symbol': () => Symbol('odd'),
  'a cycle': cyclic,
  'an instance of a class': () => new Own(),
  'a getter that throws': () => ({
    n: 1n,
    get bad() {
      return fault()
    },
  }),
  'a Proxy whose traps all throw': () =>
    new Proxy({}, { get: fault, ownKeys: fault, has: fault, getPrototypeOf: fault }),
  'a Promise in an object': () => ({ later: Promise.resolve(1) }),
  'a toJSON that throws': () => ({ toJSON: fault }),
  'more than 1 MiB': () => 'x'.repeat(1_100_000),
  'nested too deep': () => Array.from({ length: 20_000 }).reduce((inner) => [inner], 0),
}

type Handler = (run: Run) => unknown

const faults: Readonly<Record<string, Handler>> = {
  ...Object.fromEntries(
    Object.entries(unstorable).flatMap(([what, make]): [string, Handler][] => [
      [`returns ${what}`, () => make()],
      [`answers a step with ${what}`, (run) => run.step('answer', make)],
      [`answers a transaction with ${what}`, (run) => run.transaction('answer', () => Promise.resolve(make()))],
      [`gives args of ${what}`, (run) => run.step('args', () => 1, { args: make() })],
      [
        `throws an error that holds ${what}`,
        () => Promise.reject(Object.assign(new Error('holds it'), { held: make() })),
      ],
      [
        `shows progress of ${what}`,
        (run) => {
          run.progress(make())
          return fault()
        },
      ],
    ]),
  ),
  'throws outside a promise': fault,
  // oxlint-disable-next-line unicorn/no-thenable -- somebody's thenable
  'returns a thenable that throws': () => ({ then: fault }),
  'leaves a step behind that fails': async (run) => {
    void run.step('alone', fault)
    await run.now()
    await run.now()
    return fault()
  },
  'leaves a step behind that fails later': (run) => {
    void run.step('alone', async () => {
      await run.now()
      fault()
    })
    return fault()
  },
  'leaves a transaction behind': (run) => {
    void run.transaction('alone', async (tx) => {
      await tx.query('select 1 / 0')
    })
    return fault()
  },
  'fails in one of many steps': (run) =>
    Promise.all(
      Array.from({ length: 10 }, (_, index) => run.step(`part ${index}`, index % 2 === 0 ? fault : () => index)),
    ),
  'forgets a query that fails': (run) =>
    run.transaction('forgets', (tx) => {
      void tx.query('select 1 / 0')
      return Promise.resolve(1)
    }),
  'asks a transaction that is over': (run) => {
    let late: () => unknown = () => undefined
    return run
      .transaction('leaks', (tx) => {
        late = () => tx.query('select 1')
        return Promise.resolve(1)
      })
      .then(() => {
        void late()
        return fault()
      })
  },
  'ends its transaction by hand': (run) =>
    run.transaction('ends', async (tx) => {
      await tx.query('rollback')
      fault()
    }),
  'names a step badly': (run) => run.step('a/b', () => 1),
  'names a step by nothing': (run) => run.step(undefined as never, () => 1),
  'gives a step no body': (run) => run.step('bodiless', undefined as never),
  'gives a step odd options': (run) => run.step('odd', () => 1, { timeout: 'soon' }),
  'makes a directive badly': (run) => run.snooze('soon'),
  'fails for a reason that is none': (run) => run.fail(7 as never),
}

export const faultNames: readonly string[] = Object.keys(faults)

export const faulty = defineWorkflow({
  name: 'faulty',
  input: z.string(),
  maxAttempts: 1,
  handler: (name, run) => faults[name]?.(run),
})

export const badOutput = defineWorkflow({
  name: 'has an output that does not fit',
  maxAttempts: 1,
  output: z.string(),
  handler: () => 7 as never,
})

export const brokenOutput = defineWorkflow({
  name: 'has an output schema that throws',
  maxAttempts: 1,
  output: z.string().transform(fault),
  handler: () => 'any',
})

export const sound = defineWorkflow({ name: 'sound', handler: () => 'sound' })
