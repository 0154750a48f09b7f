import type { SchemaNames } from './schema-names.ts'

/**
 * What three kinds of database users need, and no more. Functions that a producer calls run as their owner, so that it
 * needs no right on any table; all others run as whoever calls them.
 */

export const roleNames = ['producer', 'worker', 'viewer'] as const

export type RoleName = (typeof roleNames)[number]

/** Starts runs, signals and answers them, and reads those whose id it has. */
const producerFunctions = [
  'start',
  'start_runs',
  'see_definitions',
  'send_signals',
  'unpark_run',
  'find_run',
  'look_at_runs',
  '_revision',
]
/** Looks, and changes nothing. */
const viewerFunctions = [
  'find_run',
  'look_at_runs',
  'list_runs',
  'info',
  'why_run',
  'list_parked',
  'show_limits',
  'show_schedules',
  'audit_limits',
  'read_metrics',
  '_depths',
  '_revision',
  '_now',
  '_ahead',
  '_has_own_line',
  '_holders',
  '_limits_said',
  '_rate_left',
  '_rate_opens_at',
]

/** SQL that makes the roles where they are missing and grants each what it needs. It may be run again, and must be after an upgrade. */
export function rolesScript({ schema, quoted, quotedQueue }: SchemaNames): string {
  const role = (name: RoleName): string => `"${`${schema}_${name}`.replaceAll('"', '""')}"`
  const literal = (name: RoleName): string => `'${`${schema}_${name}`.replaceAll("'", "''")}'`
  const everywhere = [quoted, quotedQueue].join(', ')
  return `-- Run it as the user who migrates. Then: grant ${role('producer')} to your_app_user;
begin;
do $roles$
declare
  _table record;
begin
${roleNames
  .map(
    (name) => `  if not exists (select from pg_roles where rolname = ${literal(name)}) then
    create role ${role(name)} nologin;
  end if;`,
  )
  .join('\n')}
  -- The queue's tables let nobody but their owner see a row unless a policy says so.
  for _table in
    select c.relname from pg_class c where c.relnamespace = ${literalOf(quotedQueue)}::regnamespace and c.relrowsecurity
  loop
    execute format('drop policy if exists %I on ${quotedQueue}.%I', ${literal('worker')}, _table.relname);
    execute format('create policy %1$I on ${quotedQueue}.%2$I to %1$I using (true) with check (true)', ${literal('worker')},
      _table.relname);
  end loop;
end
$roles$;

revoke execute on all functions in schema ${quoted} from public;

-- Starts, signals and answers runs, and reads those whose id it has.
grant usage on schema ${quoted} to ${role('producer')};
grant select on ${quoted}.migrations, ${quoted}.function_sets to ${role('producer')};
${functionGrants(quoted, producerFunctions, role('producer'))}

-- Runs them.
grant usage on schema ${everywhere} to ${role('worker')};
grant select, insert, update, delete on all tables in schema ${everywhere} to ${role('worker')};
grant usage on all sequences in schema ${everywhere} to ${role('worker')};
grant execute on all functions in schema ${everywhere} to ${role('worker')};

-- Looks at everything and changes nothing.
grant usage on schema ${quoted} to ${role('viewer')};
grant select on all tables in schema ${quoted} to ${role('viewer')};
${functionGrants(quoted, viewerFunctions, role('viewer'))}
commit;
`
}

function functionGrants(quoted: string, names: readonly string[], role: string): string {
  const list = names.map((name) => `'${name}'`).join(', ')
  return `do $grants$
declare
  _function regprocedure;
begin
  for _function in
    select p.oid::regprocedure from pg_proc p
    where p.pronamespace = ${literalOf(quoted)}::regnamespace and p.proname in (${list})
  loop
    execute format('grant execute on function %s to ${role.replaceAll("'", "''").replaceAll('%', '%%')}', _function);
  end loop;
end
$grants$;`
}

function literalOf(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
