import pg from 'pg'
import { expect, test } from 'vitest'
import { schemaNames } from '../../src/db/schema-names.ts'
import { emptyDatabase } from '../support/database.ts'
import { applyVariant, optionsFor, variant as suite, variants, type VariantName } from '../support/variant.ts'
import { doEverything } from './everything.ts'

/** What is seen of it on a session of the application's own. */
const seen: Readonly<Record<VariantName, Readonly<Record<string, string>>>> = {
  'pool-of-2': {},
  'no-notify': {},
  'odd-schema': { search_path: '""' },
  serializable: { default_transaction_isolation: 'serializable' },
  'statement-timeout': { statement_timeout: '200ms' },
}

const titles: Readonly<Record<VariantName, string>> = {
  'pool-of-2': "on a caller's own pool of two sessions",
  'no-notify': 'where no NOTIFY reaches anybody',
  'odd-schema': 'in a schema with an odd name and with an empty search_path',
  serializable: 'where the default isolation is serializable',
  'statement-timeout': 'where a statement may take 200 ms',
}

test.each(variants.map((variant) => [titles[variant.name], variant] as const))(
  'OPS-04: everything that an application does works %s',
  async (_, variant) => {
    const database = await emptyDatabase()
    const ears = new pg.Client({ connectionString: database.connectionString })
    ears.on('error', () => undefined)
    let heard = 0
    try {
      await ears.connect()
      await applyVariant(ears, variant)
      ears.on('notification', () => (heard += 1))
      const schema = 'schema' in variant ? variant.schema : undefined
      for (const channel of [schemaNames(schema).channel, 'jobs:insert']) {
        await ears.query(`listen ${ears.escapeIdentifier(channel)}`)
      }
      const where = optionsFor(database, variant)
      await doEverything(database, where)
      const session = new pg.Client({ connectionString: database.connectionString })
      await session.connect()
      for (const [setting, value] of Object.entries(seen[variant.name])) {
        expect.soft((await session.query(`show ${setting}`)).rows).toEqual([{ [setting]: value }])
      }
      await session.end()
      expect(heard > 0).toBe(variant.name !== 'no-notify' && suite.isSilent !== true)
      expect(where.pool?.totalCount ?? 2).toBe(2)
    } finally {
      await ears.end()
      await database.drop()
    }
  },
)
