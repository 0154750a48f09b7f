import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { crashTest } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

const { connectionString } = inject('testServer')

async function send(address: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const greet = defineWorkflow({
  name: 'greet',
  input: z.object({ name: z.string() }),
  maxAttempts: 1,
  handler: async ({ name }, run) => {
    const greeting = await run.step('greet', () => `Hello, ${name}`)
    return await run.step('shout', () => greeting.toUpperCase())
  },
})

test('crashTest kills at every point, from the first body to the end of the last claim, and says how many', async () => {
  const places: string[] = []
  const dying = defineWorkflow({
    name: 'dying',
    handler: async (_, run) => {
      await run.step('a', () => turn())
      return run.attempt > 1
    },
  })
  // Whatever depends on the attempt differs, so each point that costs one is named.
  const { points, problems } = await crashTest(dying, undefined, { connectionString })
  for (const { kind, point } of problems) places.push(`${kind} ${point}`)
  expect(places).toEqual([
    'other_outcome 1 of 5: before the body of "a"',
    'other_outcome 2 of 5: after the body of "a"',
    'other_outcome 3 of 5: after the commit of "a"',
    'other_outcome 4 of 5: before the claim ends',
  ])
  expect(points).toBe(5)
})

test('crashTest takes no attempt from a run, whatever its maxAttempts', async () => {
  const report = await crashTest(greet, { name: 'Ada' }, { connectionString })
  expect(report).toMatchObject({ problems: [], outcome: { state: 'done', output: 'HELLO, ADA' } })
})

test('crashTest takes some of the points, evenly', async () => {
  const { points, problems } = await crashTest(greet, { name: 'Ada' }, { connectionString, maxPoints: 4 })
  expect(problems).toEqual([])
  expect(points).toBe(4)
})

test('crashTest refuses input that the workflow would refuse', async () => {
  await expect(crashTest(greet, { name: 7 } as never, { connectionString })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})

test('mocks and tables can be prepared, and each run writes its row once', async () => {
  let address = ''
  let rows: unknown[] = []
  const insert = defineWorkflow({
    name: 'insert',
    handler: async (_, run) => {
      const name = await run.step('ask', () => Promise.reject<string>(new Error('not in a test')))
      await run.transaction('insert', async (tx) => {
        await tx.query('insert into names values ($1, $2)', [run.id, name])
      })
      await run.step('look', async () => {
        rows = await send(address, 'select count(*)::int as count from names group by run having count(*) <> 1')
      })
      return name
    },
  })
  const report = await crashTest(insert, undefined, {
    connectionString,
    prepare: async (runtime) => {
      address = runtime.connectionString
      await send(address, 'create table names (run uuid, name text)')
      runtime.mockStep('ask', 'Ada')
    },
  })
  expect(report.problems).toEqual([])
  expect(report.outcome?.output).toBe('Ada')
  expect(rows).toEqual([])
})

test('a failure that the handler went past is not tried again once it is kept', async () => {
  const charged = new Set<string>()
  const forgiving = defineWorkflow({
    name: 'forgiving',
    handler: async (_, run) => {
      try {
        await run.step('charge', () => {
          if (charged.has(run.id)) return
          charged.add(run.id)
          throw new Error('busy')
        })
      } catch {
        return await run.step('tell', () => turn().then(() => 'told'))
      }
      return await run.step('ship', () => 'shipped')
    },
  })
  const { problems } = await crashTest(forgiving, undefined, { connectionString })
  // Until then another try may get on, as it may without a crash.
  expect(problems.map(({ kind, point }) => `${kind} ${point}`)).toEqual([
    'other_outcome 2 of 8: after the body of "charge"',
    'other_outcome 3 of 8: before the commit of "charge"',
  ])
})

describe('what Holdfast itself would do wrong is found:', () => {
  const two = defineWorkflow({
    name: 'two',
    handler: async (_, run) => {
      const one = await run.step('one', () => 1)
      return one + (await run.step('two', () => turn().then(() => 1)))
    },
  })

  test('a memo that is lost lets its step run again', async () => {
    const report = await crashTest(two, undefined, {
      connectionString,
      prepare: (runtime) =>
        send(
          runtime.connectionString,
          `create function forget() returns trigger language plpgsql as $$ begin
             delete from holdfast.steps where run_id = new.run_id and key = 'two';
             return new;
           end $$;
           create trigger forget after insert on holdfast.claims for each row execute function forget()`,
        ),
    })
    expect(report.problems).not.toEqual([])
    expect(new Set(report.problems.map((problem) => 'step' in problem && `${problem.kind} ${problem.step}`))).toEqual(
      new Set(['ran_again two']),
    )
  })

  test('a memo that is another one leads to another outcome', async () => {
    const report = await crashTest(two, undefined, {
      connectionString,
      prepare: (runtime) =>
        send(
          runtime.connectionString,
          `create function forge() returns trigger language plpgsql as $$ begin
             update holdfast.steps set value = '5' where run_id = new.run_id and key = 'one';
             return new;
           end $$;
           create trigger forge after insert on holdfast.claims for each row execute function forge()`,
        ),
    })
    expect(new Set(report.problems.map(({ kind }) => kind))).toEqual(new Set(['other_outcome']))
    expect(report.problems[0]).toMatchObject({ expected: { output: 2 }, got: { output: 6 } })
  })

  test('a run that is forgotten is stuck', async () => {
    const report = await crashTest(two, undefined, {
      connectionString,
      timeout: '50ms',
      prepare: (runtime) =>
        send(
          runtime.connectionString,
          `create function hold() returns trigger language plpgsql as $$ begin
             update holdfast.runs set state = 'suspended', due_at = null where id = new.run_id;
             return new;
           end $$;
           create trigger hold after insert on holdfast.claims for each row execute function hold()`,
        ),
    })
    expect(new Set(report.problems.map(({ kind }) => kind))).toEqual(new Set(['stuck']))
  })
})
