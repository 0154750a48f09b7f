/** The budgets of departments: tables of the application's own, in the database that Holdfast uses too. */
import type { Queryable } from '../../src/index.ts'
import type { Expense } from './expense.ts'

let pool: Queryable

/** Makes the tables. `db` is the application's pool: a rollback has no transaction of its run's, and uses that. */
export async function openBudgets(db: Queryable, budgets: Record<string, number>): Promise<void> {
  pool = db
  await db.query(`
    create schema office;
    create table office.budgets (department text primary key, left_cents int not null check (left_cents >= 0));
    create table office.reservations (
      expense text primary key,
      department text not null references office.budgets,
      cents int not null,
      receipt text
    )`)
  for (const [department, cents] of Object.entries(budgets))
    await db.query('insert into office.budgets values ($1, $2)', [department, cents])
}

/** Sets the money aside, if it is there. */
export async function reserve(tx: Queryable, { id, department, cents }: Expense): Promise<boolean> {
  const { rows } = await tx.query(
    `with taken as (
       update office.budgets set left_cents = left_cents - $3 where department = $2 and left_cents >= $3
       returning department
     )
     insert into office.reservations (expense, department, cents) select $1, department, $3 from taken returning expense`,
    [id, department, cents],
  )
  return rows.length === 1
}

/** Gives the money back. A rollback may run twice: the second time there is no reservation, and nothing happens. */
export async function release({ id }: Expense): Promise<void> {
  await pool.query(
    `with gone as (delete from office.reservations where expense = $1 returning department, cents)
     update office.budgets b set left_cents = left_cents + gone.cents from gone where b.department = gone.department`,
    [id],
  )
}

/** The money is spent: what was reserved has its receipt. */
export async function book(tx: Queryable, { id }: Expense, receipt: string): Promise<void> {
  await tx.query('update office.reservations set receipt = $2 where expense = $1', [id, receipt])
}

export async function leftOf(db: Queryable, department: string): Promise<number> {
  const { rows } = await db.query('select left_cents from office.budgets where department = $1', [department])
  return rows[0].left_cents
}
