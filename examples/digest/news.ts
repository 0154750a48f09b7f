/** What has happened, for whom: a table of the application's own, in the database that Holdfast uses too. */
import type { Queryable } from '../../src/index.ts'

export interface News {
  readonly recipient: string
  readonly headline: string
  /** Default: now. */
  readonly at?: Date
}

export interface Digest {
  readonly recipient: string
  readonly headlines: readonly string[]
}

export async function openNews(db: Queryable): Promise<void> {
  await db.query(`
    create schema news;
    create table news.items (
      recipient text not null,
      headline text not null,
      happened_at timestamptz not null,
      digest timestamptz
    );
    create index on news.items (happened_at) where digest is null`)
}

export async function report(db: Queryable, { recipient, headline, at }: News): Promise<void> {
  await db.query('insert into news.items values ($1, $2, coalesce($3, now()))', [recipient, headline, at])
}

/**
 * Takes what happened before `until` and is in no digest yet. It is marked rather than found by its time alone: what is
 * committed late, or was left over by a digest that was skipped, is in the next one, and nothing is in two.
 */
export async function gatherNews(tx: Queryable, until: string): Promise<Digest[]> {
  const { rows } = await tx.query(
    `with gathered as (
       update news.items set digest = $1 where digest is null and happened_at < $1 returning recipient, headline, happened_at
     )
     select recipient, json_agg(headline order by happened_at, headline) as headlines
     from gathered group by recipient order by recipient`,
    [until],
  )
  return rows
}
