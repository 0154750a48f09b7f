import { defaultTimings, type Timings } from '../../src/worker/timings.ts'
import { variant } from './variant.ts'

/** With a lease of 1.5 s: renewed every 0.5 s, swept every 0.3 s. */
export const fastTimings: Timings = { ...defaultTimings, sweepMs: 300, renewAfter: 1 / 3 }

/** Nobody looks again by itself: what comes at all came by a word or at its time. Where no word arrives, they look. */
export const rareLooks: Timings = variant.isSilent ? fastTimings : { ...fastTimings, lookMs: 3_600_000 }
