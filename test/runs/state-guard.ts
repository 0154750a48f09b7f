import { moves, states } from '../../src/model/state.ts'
import type { TestDatabase } from '../support/database.ts'

/** `waiting -> running`; a run that is made comes from `nothing`. */
export type Move = `${string} -> ${string}`

/** All that the state table has, and the two states in which a run is made. */
export const allMoves: readonly Move[] = [
  'nothing -> scheduled',
  'nothing -> waiting',
  ...states.flatMap((from) => moves[from].map((to): Move => `${from} -> ${to}`)),
]

/** Makes the database refuse every move of a run that the state table does not have, and note those that happen. */
export async function guardStates(database: TestDatabase): Promise<void> {
  await database.query(`
    create table allowed_moves (move text primary key);
    create table seen_moves (move text not null);
    create function guard_state() returns trigger language plpgsql as $$
    declare
      _from text := case when tg_op = 'INSERT' then 'nothing' else old.state end;
      _move text := _from || ' -> ' || new.state;
    begin
      if _from = new.state then
        return new;
      end if;
      if not exists (select from public.allowed_moves a where a.move = _move) then
        raise exception 'No run may move %.', _move;
      end if;
      insert into public.seen_moves values (_move);
      return new;
    end
    $$;
    create trigger guard_state before insert or update of state on holdfast.runs
    for each row execute function guard_state();
  `)
  await database.query('insert into allowed_moves select unnest($1::text[])', [allMoves])
}

export async function seenMoves(database: TestDatabase): Promise<string[]> {
  const { rows } = await database.query<{ move: string }>('select distinct move from seen_moves order by move')
  return rows.map(({ move }) => move)
}
