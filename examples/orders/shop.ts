/** The shop's own tables. Holdfast's live beside them, in a schema of their own, in the same database. */
import type { Queryable } from '../../src/index.ts'
import { catalogue } from './catalogue.ts'
import type { Order } from './order.ts'

export async function openShop(db: Queryable): Promise<void> {
  await db.query(`
    create schema shop;
    create sequence shop.confirmation_number start 5001;
    create table shop.stock (product text primary key, delivered int not null, on_hand int not null check (on_hand >= 0));
    create table shop.orders (
      id text primary key,
      customer text not null,
      email text not null,
      product text not null,
      quantity int not null,
      amount_cents int not null,
      note text not null,
      run_id uuid not null,
      receipt text,
      confirmation text
    );
    create table shop.kills (killed_at timestamptz not null, order_id text not null)`)
  for (const [product, { onHand }] of Object.entries(catalogue))
    await db.query('insert into shop.stock values ($1, $2, $2)', [product, onHand])
}

/** Takes the goods off the shelf, if there are enough. */
export async function reserveStock(tx: Queryable, { product, quantity }: Order): Promise<boolean> {
  const { rows } = await tx.query(
    'update shop.stock set on_hand = on_hand - $2 where product = $1 and on_hand >= $2 returning on_hand',
    [product, quantity],
  )
  return rows.length === 1
}

/** Writes the receipt and a new confirmation number into the order, and answers the number. */
export async function confirmOrder(tx: Queryable, { id }: Order, receipt: string): Promise<string> {
  const { rows } = await tx.query(
    `update shop.orders set receipt = $2, confirmation = 'C-' || nextval('shop.confirmation_number')
     where id = $1 returning confirmation`,
    [id, receipt],
  )
  return rows[0].confirmation
}
