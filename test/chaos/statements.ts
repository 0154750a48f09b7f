/**
 * The statements that write, as a proxy sees them: a call by its prepared statement's name, one in a session of its own
 * by its text. `of` is whose connection they come by.
 */
export interface WritingStatement {
  readonly name: string
  readonly pattern: RegExp
  readonly of: 'client' | 'worker' | 'leaving worker'
}

export const writingStatements: readonly WritingStatement[] = [
  { name: 'start_runs', pattern: call('start_runs'), of: 'client' },
  { name: 'see_definitions', pattern: call('see_definitions'), of: 'client' },
  { name: 'claim_runs', pattern: call('claim_runs'), of: 'worker' },
  { name: 'keep_steps', pattern: call('keep_steps'), of: 'worker' },
  { name: 'settle_runs', pattern: call('settle_runs'), of: 'worker' },
  { name: 'keep_progress', pattern: call('keep_progress'), of: 'worker' },
  { name: 'renew_leases', pattern: text('renew_leases'), of: 'worker' },
  { name: 'register_worker', pattern: text('register_worker'), of: 'worker' },
  { name: 'promote_due', pattern: call('promote_due'), of: 'worker' },
  { name: 'bury_workers', pattern: call('bury_workers'), of: 'worker' },
  { name: 'end_leases', pattern: call('end_leases'), of: 'worker' },
  { name: 'fail_overdue', pattern: call('fail_overdue'), of: 'worker' },
  { name: 'reissue_tickets', pattern: call('reissue_tickets'), of: 'worker' },
  { name: 'commit of run.transaction', pattern: /^Qcommit\b/i, of: 'worker' },
  { name: 'fetch of tickets', pattern: /^B[^\0]*\0get_job/, of: 'worker' },
  { name: 'completion of tickets', pattern: /^B[^\0]*\0complete_job/, of: 'worker' },
  { name: 'farewell', pattern: call('(?:end_worker|return_tickets)'), of: 'leaving worker' },
]

function call(fn: string): RegExp {
  return new RegExp(`^B[^\\0]*\\0holdfast ${fn}\\0`)
}

function text(fn: string): RegExp {
  return new RegExp(`^P[^]*\\.${fn}\\(`)
}
