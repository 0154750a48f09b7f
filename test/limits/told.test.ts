import { expect, test, vi } from 'vitest'
import { createClient, defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { mostAtOnce } from '../support/limits.ts'
import { isPointless, optionsFor } from '../support/variant.ts'
import { recordingLogger, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('LIMIT-07, D10: a worker whose code knows no limit keeps the one in force, and says so once', async () => {
  const newer = defineWorkflow({ name: 'two releases', concurrency: 1, handler: () => 1 })
  const client = createClient({ ...optionsFor(database), migrate: 'off' })
  const first = await client.start(newer)
  const older = defineWorkflow({ name: 'two releases', handler: () => 1 })
  const logger = recordingLogger()
  // It was there before the limit came.
  await database.query(
    `insert into holdfast.definitions (workflow, fingerprint, policy, first_seen_at, applies_from)
     values ('two releases', $1, '{"limits":{"isFair":false}}', now() - interval '1 h', now() - interval '1 h')`,
    [older.definition.fingerprint],
  )
  await startWorker(database, { workflows: [older], logger })
  const runs = [
    first,
    ...(await client.startMany(
      newer,
      Array.from({ length: 20 }, () => ({ input: undefined })),
    )),
  ]
  await Promise.all(runs.map((run) => client.result(run)))
  await client.close()
  expect(await mostAtOnce(database, 'two releases')).toMatchObject({ all: 1 })
  const told = logger.lines.filter(({ message }) => message.startsWith('A newer definition has other limits'))
  expect(told).toMatchObject([{ level: 'warn', fields: { workflow: 'two releases', limits: { concurrency: 1 } } }])
})

const isDeaf = isPointless('no-notify', 'without NOTIFY a worker hears of other limits when it starts')

test.skipIf(isDeaf)(
  'LIMIT-07: a worker that runs is told once when an operator sets other limits than its code has',
  async () => {
    const workflow = defineWorkflow({ name: 'told while running', concurrency: 3, handler: () => 1 })
    const logger = recordingLogger()
    await startWorker(database, { workflows: [workflow], logger })
    const session = await connect(database)
    const told = (): unknown[] =>
      logger.lines
        .filter(({ message }) => message.startsWith('An operator has set other limits'))
        .map(({ fields }) => fields['limits'])
    expect(told()).toEqual([])
    await session.call('set_limits', workflow.name, { concurrency: 1 }, 'ada')
    await vi.waitFor(() => expect(told()).toEqual([{ concurrency: 1, isFair: false }]), 15_000)
    await session.call('pause_workflow', workflow.name, 'ada', null)
    await session.call('set_limits', workflow.name, { concurrency: 2 }, 'ada')
    await vi.waitFor(() => expect(told()).toContainEqual({ concurrency: 2, isFair: false }), 15_000)
    expect(told()).toHaveLength(2)
  },
)
