import { beforeAll, expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'
import { fileURLToPath } from 'node:url'
import { jsonOf, runCli } from './run-cli.ts'
import { tenants } from './limited-workflows.ts'

const database = useDatabase()
const environment = { DATABASE_URL: database.connectionString }
const code = fileURLToPath(new URL('limited-workflows.ts', import.meta.url))

let run: string

beforeAll(async () => {
  run = (await openClient(database).start(tenants, { tenant: 'a' })).id
})

interface Shown {
  readonly workflow: string
  readonly inForce: Record<string, unknown>
  readonly set: { readonly by: string } | null
  readonly paused: { readonly by: string; readonly reason: string } | null
}

test('LIMIT-07: limits set is in force, shown with who set it, and unset goes back to the code', async () => {
  const [set] = await jsonOf<Shown[]>(
    ['limits', 'set', 'tenants', '--concurrency', '7', '--group-rate', '5/1m', '--fair', '--by', 'ada'],
    environment,
  )
  expect(set).toMatchObject({
    inForce: { concurrency: 7, concurrencyPerGroup: 2, ratePerGroup: { limit: 5, perMs: 60_000 }, isFair: true },
    set: { by: 'ada' },
  })
  const [none] = await jsonOf<Shown[]>(
    ['limits', 'set', 'tenants', '--group-concurrency', 'none', '--no-fair'],
    environment,
  )
  expect(none?.inForce).toMatchObject({ concurrency: 7, concurrencyPerGroup: null, isFair: false })
  const said = await runCli(['limits', 'show'], environment)
  expect(said.stdout).toMatch(/^tenants: 7 at once, 5 of a group in 60000 ms\n {2}set by /)
  expect(said.stdout).toContain('0 running, 0 set aside')
  const [one] = await jsonOf<Shown[]>(['limits', 'unset', 'tenants', '--group-rate', '--fair'], environment)
  expect(one?.inForce).toEqual({ concurrency: 7, concurrencyPerGroup: null, isFair: false })
  const [all] = await jsonOf<Shown[]>(['limits', 'unset', 'tenants'], environment)
  expect(all).toMatchObject({ inForce: { concurrencyPerGroup: 2, isFair: false }, set: null })
})

test('limits pause and resume, and why says so', async () => {
  const paused = await runCli(['limits', 'pause', 'tenants', '--reason', 'mail is down', '--by', 'ada'], environment)
  expect(paused).toMatchObject({ code: 0 })
  expect(paused.stdout).toMatch(/paused by ada since .*: mail is down/)
  const why = await runCli(['why', run], environment)
  expect(why.stdout).toMatch(/^\S+ tenants \(a\): waiting, place 1 of 1\n/)
  expect(why.stdout).toContain('Its workflow was paused by ada at')
  expect(why.stdout).toContain('No worker that lives has its workflow.')
  expect(await jsonOf(['why', run], environment)).toMatchObject({
    run,
    ahead: 0,
    reasons: [{ kind: 'paused' }, { kind: 'no_worker' }],
  })
  expect(await runCli(['limits', 'resume', 'tenants'], environment)).toMatchObject({ code: 0 })
  expect((await runCli(['limits', 'resume', 'tenants'], environment)).stderr).toContain('tenants was not paused.')
})

test('limits apply puts the limits of code in force again', async () => {
  const newer = [
    {
      workflow: 'tenants',
      fingerprint: 'newer',
      policy: { hasGroup: true, limits: { isFair: false, concurrency: 9 } },
    },
  ]
  await database.query('select holdfast.see_definitions($1)', [JSON.stringify(newer)])
  expect((await jsonOf<Shown[]>(['limits', 'show', 'tenants'], environment))[0]?.inForce).toMatchObject({
    concurrency: 9,
  })
  const [applied] = await jsonOf<Shown[]>(['limits', 'apply', 'tenants', '--code', code], environment)
  expect(applied?.inForce).toEqual({ concurrencyPerGroup: 2, isFair: false })
})

test('what cannot be a limit is refused as wrong usage, and nothing changes', async () => {
  const wrong = [
    ['--concurrency', '0'],
    ['--concurrency', 'many'],
    ['--rate', '5'],
    ['--rate', '5/0'],
    ['--rate', '0/1s'],
    [],
  ]
  for (const args of wrong) {
    expect({ args, ...(await runCli(['limits', 'set', 'tenants', ...args], environment)) }).toMatchObject({
      args,
      code: 2,
      stdout: '',
    })
  }
  expect(await runCli(['limits', 'set', 'nobody', '--concurrency', '1'], environment)).toMatchObject({ code: 1 })
  expect(await runCli(['limits', 'apply', 'nobody', '--code', code], environment)).toMatchObject({ code: 2 })
  expect((await jsonOf<Shown[]>(['limits', 'show', 'tenants'], environment))[0]?.set).toBeNull()
})

test('why of a run that is not there ends with 1', async () => {
  expect(await runCli(['why', '0197f3c2-5a10-7c1e-9b1f-0d4c2e6a8b10'], environment)).toMatchObject({
    code: 1,
    stdout: '',
  })
})

test('LIMIT-08: audit says what it covers, and ends with 1 if a limit was exceeded', async () => {
  const kept = await runCli(['audit', '--since', '1h'], environment)
  expect(kept).toMatchObject({ code: 0 })
  expect(kept.stdout).toMatch(/^tenants: 0 claims from \S+ to \S+\nEvery limit was kept.\n$/)
  const { rows } = await database.query(
    `insert into holdfast.runs (id, token, workflow, state, priority, attempt, max_attempts, created_at, due_at, claimed_at,
       ended_at, group_key)
     select gen_random_uuid(), 2, 'tenants', 'done', 0, 1, 1, now(), now(), now(), now() + interval '1 s', 'a'
     from generate_series(1, 3) returning id`,
  )
  expect(rows).toHaveLength(3)
  const broken = await runCli(['audit'], environment)
  expect(broken).toMatchObject({ code: 1 })
  expect(broken.stdout).toContain('tenants (a): concurrency of 2 exceeded at')
  expect(await runCli(['audit', '--since', 'yesterday'], environment)).toMatchObject({ code: 2 })
  expect(await runCli(['audit', '--since', '2030-99-01'], environment)).toMatchObject({ code: 2 })
})
