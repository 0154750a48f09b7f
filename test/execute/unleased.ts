import type { Lease } from '../../src/model/claim.ts'

/** Of a claim that nobody else can take. */
export const unleased: Lease = {
  expiresAt: new Date('9999-12-31T23:59:59.999Z'),
  extend: () => Promise.resolve(unleased.expiresAt),
}
