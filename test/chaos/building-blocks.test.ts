import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readBodyLog } from '../support/body-log.ts'
import { claimByHand, loseLease, memo } from '../support/claim-by-hand.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { installHistory, readHistory, type HistoryEvent } from '../support/history.ts'
import { waitingRuns } from '../support/runs.ts'
import { openClient } from '../support/worker.ts'
import { voyage, type VoyageInput } from './workflows.ts'

const database = useDatabase()
const module = new URL('workflows.ts', import.meta.url)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-blocks-'))
  await installHistory(database.pool)
  await database.query('create table history.effects (run_id uuid not null, nonce text not null)')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function historyOf(run: string): Promise<readonly HistoryEvent[]> {
  return (await readHistory(database.pool)).filter((event) => event.run === run)
}

const input: VoyageInput = { index: 0, delays: [0, 0, 0, 0, 0], turn: 'none' }

test('the history tells each move of a run, and each memo with the token that the run had', async () => {
  const [runId = ''] = await waitingRuns(await connect(database), 1)
  const claim = await claimByHand(database, runId)
  await claim.journal.keep(memo('a', '1'))
  await loseLease(database, runId)

  const events = await historyOf(runId)

  expect(events.filter(({ subject, oldToken, token }) => subject === 'run' && oldToken !== token)).toMatchObject([
    { op: 'insert', state: 'waiting', token: 0 },
    { op: 'update', oldState: 'waiting', state: 'running', oldToken: 0, token: 1, worker: claim.workerId },
    { op: 'update', oldState: 'running', state: 'waiting', oldToken: 1, token: 2 },
  ])
  expect(events.filter(({ subject }) => subject === 'step')).toMatchObject([
    { op: 'insert', key: 'a', value: '1', token: 1, runToken: 1 },
  ])
})

test('what a transaction undid is in no history', async () => {
  const [runId = ''] = await waitingRuns(await connect(database), 1)
  const own = await connect(database)

  await own.query('begin')
  await own.query(`update holdfast.runs set reason = 'undone' where id = $1`, [runId])
  await own.query('rollback')

  expect((await historyOf(runId)).map(({ subject, op }) => `${subject} ${op}`)).not.toContain('run update')
})

test.each(['before', 'after'] as const)('a process kills itself right %s the function it is told', async (when) => {
  const bodyLog = join(folder, `killed-${when}`)
  const worker = await forkWorker(database, { module, bodyLog, failPoint: { when, fn: 'keep_steps', how: 'kill' } })
  const client = openClient(database)
  const { id } = await client.start(voyage, input)

  expect((await worker.ended).signal).toBe('SIGKILL')

  expect(readBodyLog(bodyLog).map(({ did, key }) => `${did} ${key}`)).toEqual(['begin a', 'end a', 'kill keep_steps'])
  const memos = (await historyOf(id)).filter(({ subject }) => subject === 'step')
  expect(memos).toHaveLength(when === 'before' ? 0 : 1)
  await client.cancel(id)
})

test('a process freezes itself right before a settle, which is refused when it wakes up', async () => {
  const bodyLog = join(folder, 'frozen')
  const worker = await forkWorker(database, { module, bodyLog })
  worker.arm({ when: 'before', fn: 'settle_runs', how: 'freeze' })
  const { id } = await openClient(database).start(voyage, input)
  await vi.waitFor(
    () => expect(readBodyLog(bodyLog).at(-1)).toMatchObject({ did: 'freeze', key: 'settle_runs' }),
    15_000,
  )

  await loseLease(database, id)
  worker.thaw()

  await vi.waitFor(
    () => expect(readBodyLog(bodyLog)).toContainEqual(expect.objectContaining({ did: 'refused', run: id, token: 1 })),
    15_000,
  )
})
