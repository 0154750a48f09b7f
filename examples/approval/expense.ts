import { z } from 'zod'

export const expenseSchema = z.object({
  id: z.string(),
  by: z.email(),
  department: z.string(),
  manager: z.email(),
  what: z.string(),
  cents: z.int().positive(),
  account: z.string(),
  /** How long the manager has. Part of the input, so that a run keeps the times it was started with. */
  remindAfter: z.string().default('2d'),
  giveUpAfter: z.string().default('5d'),
})

export type Expense = z.infer<typeof expenseSchema>

export function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`
}
