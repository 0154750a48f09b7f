import { defaultTimings, type Timings } from '../../src/worker/timings.ts'

/** With a lease of 1.5 s: renewed every 0.5 s, swept every 0.3 s. */
export const fastTimings: Timings = { ...defaultTimings, sweepMs: 300, renewAfter: 1 / 3 }
