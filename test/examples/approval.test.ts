import { expect, test } from 'vitest'
import { approveExpense } from '../../examples/approval/approve-expense.ts'
import { decided } from '../../examples/approval/ask-manager.ts'
import { leftOf, openBudgets } from '../../examples/approval/budget.ts'
import { mail } from '../../examples/approval/mail.ts'
import { payExpense } from '../../examples/approval/pay-expense.ts'
import type { Started } from '../../src/index.ts'
import { useRuntime } from '../testing/use-runtime.ts'
import { usePool } from './use-pool.ts'

const runtime = useRuntime({ workflows: [approveExpense, payExpense] })
const pool = usePool(runtime, (db) => openBudgets(db, { sales: 10_000_00, nothing: 0 }))

let count = 0

/** Starts one that is a tenth of the budget; answers what else a test needs to know of it. */
async function ask(change: { cents?: number; account?: string; department?: string } = {}) {
  const id = `expense ${(count += 1)}`
  const manager = `${count}@example.com`
  const input = { id, by: 'ada@example.com', department: 'sales', manager, what: id, cents: 50_00, account: 'DE01' }
  const started = await runtime().client.start(approveExpense, { ...input, ...change }, { key: id })
  return { started, letters: () => mail.subjectsTo(manager).map((subject) => subject.split(':')[0]) }
}

async function decide(started: Started, isApproved: boolean): Promise<void> {
  await runtime().client.signal(started, decided, { by: 'grace', isApproved })
  await runtime().runUntilIdle()
}

/** How a failed run ended, once its rollbacks have run. */
async function failureOf(started: Started) {
  await runtime().runUntilIdle()
  const view = await runtime().client.get(started)
  const { reservations } = (
    await pool().query('select count(*)::int as reservations from office.reservations where expense = $1', [view?.key])
  ).rows[0]
  return { state: view?.state, reason: view?.reason, undone: view?.rollback?.undone, reservations }
}

const rolledBack = { state: 'failed', undone: ['reserve'], reservations: 0 }

test('an expense that is approved in time is paid, and nobody is reminded', async () => {
  const before = await leftOf(pool(), 'sales')
  const { started, letters } = await ask()
  await runtime().advance('1d')
  await decide(started, true)
  expect((await runtime().client.result(started)).receipt).toMatch(/^R-/)
  await runtime().advance('10d')
  expect(letters()).toEqual(['please decide'])
  expect(await leftOf(pool(), 'sales')).toBe(before - 50_00)
})

test('after two days there is a reminder, and an approval after it still counts', async () => {
  const { started, letters } = await ask()
  await runtime().advance('1d')
  expect(letters()).toEqual(['please decide'])
  await runtime().advance('2d')
  expect(letters()).toEqual(['please decide', 'still open'])
  await decide(started, true)
  expect((await runtime().client.get(started))?.state).toBe('done')
})

test('silence for five days rolls back', async () => {
  const before = await leftOf(pool(), 'sales')
  const { started, letters } = await ask()
  await runtime().advance('4d')
  expect(await leftOf(pool(), 'sales')).toBe(before - 50_00)
  await runtime().advance('2d')
  expect(letters()).toEqual(['please decide', 'still open'])
  expect(await failureOf(started)).toEqual({ ...rolledBack, reason: 'nobody decided in time' })
  expect(await leftOf(pool(), 'sales')).toBe(before)
})

test('a rejection after the reminder rolls back', async () => {
  const before = await leftOf(pool(), 'sales')
  const { started, letters } = await ask()
  await runtime().advance('3d')
  await decide(started, false)
  expect(letters()).toEqual(['please decide', 'still open'])
  expect(await failureOf(started)).toEqual({ ...rolledBack, reason: 'rejected by grace' })
  expect(await leftOf(pool(), 'sales')).toBe(before)
})

test('a payment that fails rolls back, and the ended run shows why', async () => {
  const { started } = await ask({ account: 'DE00 CLOSED' })
  await decide(started, true)
  await expect(runtime().client.result(started)).rejects.toMatchObject({
    failure: 'rejected',
    cause: { code: 'CHILD_FAILED', cause: { message: 'The account DE00 CLOSED is closed.' } },
  })
  expect(await failureOf(started)).toEqual({ ...rolledBack, reason: 'it could not be paid' })
})

test('a large one is parked until the finance team answers', async () => {
  const { client } = runtime()
  const { started } = await ask({ cents: 2_000_00 })
  await decide(started, true)
  await runtime().advance('30d')
  expect(await client.parked()).toMatchObject([
    { run: started.id, step: 'finance', reason: expect.stringContaining('2000.00 EUR') },
  ])
  await client.unpark(started, { isFine: true })
  expect((await client.result(started)).receipt).toContain('200000 cents')
})

test('one that the finance team rejects is rolled back', async () => {
  const { started } = await ask({ cents: 2_000_00 })
  await decide(started, true)
  await runtime().client.unpark(started, { isFine: false })
  expect(await failureOf(started)).toEqual({ ...rolledBack, reason: 'rejected by finance' })
})

test('one that is cancelled while the manager thinks is rolled back', async () => {
  const { started } = await ask()
  await runtime().runUntilIdle()
  await runtime().client.cancel(started)
  expect(await failureOf(started)).toMatchObject({ ...rolledBack, state: 'cancelled' })
})

test('nobody is asked where the budget is spent', async () => {
  const { started, letters } = await ask({ department: 'nothing' })
  expect(await failureOf(started)).toMatchObject({ state: 'failed', reason: 'the budget of nothing is spent' })
  expect(letters()).toEqual([])
})
