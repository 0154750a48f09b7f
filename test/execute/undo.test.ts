import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import type { Memo } from '../../src/model/journal.ts'
import { MemoryRun } from './memory-run.ts'

function memoOf(key: string, ordinal: number): Memo {
  const value = JSON.stringify(`${key}'s answer`)
  return {
    key,
    ordinal,
    seq: ordinal,
    kind: 'answer',
    value,
    types: null,
    attempt: 1,
    token: 1,
    tries: 1,
    hasRollback: true,
  }
}

test('the run that undoes another one calls its rollbacks, and no body that the other has kept nothing of', async () => {
  const ran: string[] = []
  const workflow = defineWorkflow({
    name: 'undone',
    handler: async (_, run) => {
      const rollback = (answer: string): void => void ran.push(`undo ${answer}`)
      // Asked for before anything is known to be on record.
      const paid = run.step('pay', () => ran.push('pay'))
      await run.step('hotel', () => 'room 7', { rollback })
      await Promise.all([run.step('flight', () => 'seat 1A', { rollback }), run.step('taxi', () => ran.push('taxi'))])
      await run.step('last', () => ran.push('last'))
      await paid
    },
  })
  const undoes = { id: '00000000-0000-7000-8000-000000000001', memos: [memoOf('hotel', 2), memoOf('flight', 3)] }
  const end = await new MemoryRun({ undoes }).claim(workflow)
  expect(end?.outcome).toMatchObject({ kind: 'done', output: { json: '{"undone":["flight","hotel"]}' } })
  expect(ran).toEqual(["undo flight's answer", "undo hotel's answer"])
})
