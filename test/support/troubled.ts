import { Database } from '../../src/db/database.ts'

/** What may become of a call of a SQL function. */
export type Trouble = 'made and its reply lost' | 'locked' | 'refused'

const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
const refused = Object.assign(new Error('could not be done'), { code: 'XX000' })

/** A database in which the calls of one function meet such troubles, in their order; later ones are made as asked. */
export function troubled(fn: string, course: readonly Trouble[]): { kind: typeof Database; calls: () => number } {
  let calls = 0
  class TroubledDatabase extends Database {
    override async call<Row>(called: string, values: readonly unknown[]): Promise<Row[]> {
      const trouble = called === fn ? course[(calls += 1) - 1] : undefined
      if (trouble === 'locked') throw locked
      if (trouble === 'refused') throw refused
      const rows = await super.call<Row>(called, values)
      if (trouble) throw lost
      return rows
    }
  }
  return { kind: TroubledDatabase, calls: () => calls }
}
