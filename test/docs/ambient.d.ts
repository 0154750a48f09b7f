/** What snippets may use without saying where it comes from: each page says so in words. */
import type { Pool } from 'pg'
import type { Client, Workflow } from '../../src/index.ts'

declare global {
  /** What `createClient` answered. When a snippet is run, a worker has each workflow that it starts. */
  const client: Client
  const pool: Pool
  const welcome: Workflow<{ email: string }, { email: string }, { userId: string }, 'welcome'>
}
