// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import type { Client, NackOptions, Reserved, ReserveOptions } from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const client: Client

const options: ReserveOptions = { workflows: ['welcome'], max: 5, lease: '1m', wait: '20s' }
const reserving = client.reserve(options)
expectType<Equal<typeof reserving, Promise<Reserved[]>>>()
// @ts-expect-error -- names, at least one
void client.reserve({ max: 5 })
// @ts-expect-error -- names, not one name
void client.reserve({ workflows: 'welcome' })
// @ts-expect-error -- no such option
void client.reserve({ workflows: ['welcome'], limit: 5 })

declare const reserved: Reserved
expectType<Equal<typeof reserved.input, unknown>>()
expectType<Equal<typeof reserved.token, number>>()
expectType<Equal<typeof reserved.leaseExpiresAt, Date>>()
// @ts-expect-error -- read only
reserved.token = 7

const acked = client.ack(reserved, { any: 'output' })
expectType<Equal<typeof acked, Promise<void>>>()
void client.ack(reserved)
// @ts-expect-error -- an id is no claim
void client.ack('id')

const nackOptions: NackOptions = { after: '5m', permanent: false, reason: 'no mail today' }
const nacked = client.nack(reserved, nackOptions)
expectType<Equal<typeof nacked, Promise<void>>>()
void client.nack(reserved)
// @ts-expect-error -- its options have names
void client.nack(reserved, '5m')

const extended = client.extend(reserved, '2m')
expectType<Equal<typeof extended, Promise<Date>>>()
// @ts-expect-error -- by how much?
void client.extend(reserved)
// @ts-expect-error -- a duration, not an instant
void client.extend(reserved, new Date())
