import { z } from 'zod'
import { catalogue } from './catalogue.ts'
import { readCsv } from '../support/csv.ts'

/** An order as the shop accepts it: readable, but not yet looked at. */
export const orderSchema = z.object({
  id: z.string(),
  customer: z.string(),
  email: z.string(),
  product: z.string(),
  quantity: z.number(),
  amountCents: z.number(),
  note: z.string(),
})

export type Order = z.infer<typeof orderSchema>

const cell = z.string().trim()

const rowSchema = z.object({
  id: cell.min(1, 'the order id is missing'),
  customer: cell,
  email: cell,
  product: cell,
  quantity: cell.regex(/^\d+$/, { error: ({ input }) => `"${input}" is not a quantity` }).transform(Number),
  amount: cell
    .regex(/^\d+\.\d\d$/, { error: ({ input }) => `"${input}" is not an amount` })
    .transform((amount) => Number(amount.replace('.', ''))),
  note: cell,
})

export type OrderLine = { line: number; order: Order } | { line: number; problem: string }

/** Reads a CSV file whose first record names the columns. What cannot be an order is a problem, never an exception. */
export function* readOrders(csv: string): Generator<OrderLine> {
  let columns: string[] | undefined
  for (const record of readCsv(csv)) {
    const { line } = record
    if ('problem' in record) yield record
    else if (!columns) columns = record.fields
    else if (record.fields.length !== columns.length)
      yield { line, problem: `${record.fields.length} columns instead of ${columns.length}` }
    else yield { line, ...readRow(columns, record.fields) }
  }
}

function readRow(columns: string[], fields: string[]): { order: Order } | { problem: string } {
  const row = rowSchema.safeParse(Object.fromEntries(columns.map((column, index) => [column, fields[index]])))
  if (!row.success) return { problem: row.error.issues.map((issue) => issue.message).join('; ') }
  const { amount, ...order } = row.data
  return { order: { ...order, amountCents: amount } }
}

/** Why an order cannot be taken, if it cannot. */
export function findFault(order: Order): string | undefined {
  const product = catalogue[order.product]
  if (!product) return `unknown product ${order.product}`
  if (!order.email) return 'no e-mail address'
  if (order.quantity < 1 || order.quantity > 50) return `quantity ${order.quantity} is not between 1 and 50`
  if (order.amountCents !== product.priceCents * order.quantity) return 'amount is not price times quantity'
  return undefined
}
