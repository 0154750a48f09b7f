import { afterEach, beforeEach } from 'vitest'

/** What nobody handled during a test: each of these would have ended a worker's process. */
export function recordUnhandled(): readonly unknown[] {
  const errors: unknown[] = []
  const record = (error: unknown): void => void errors.push(error)
  beforeEach(() => {
    errors.length = 0
    process.on('unhandledRejection', record)
    process.on('uncaughtException', record)
  })
  afterEach(() => {
    process.off('unhandledRejection', record)
    process.off('uncaughtException', record)
  })
  return errors
}
