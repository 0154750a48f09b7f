/**
 * For processes that have no OpenTelemetry SDK yet, and a sampler for those that have. What Holdfast tells needs none of
 * this: it goes to whatever SDK the process has.
 */

export { startTelemetry } from './trace/start-sdk.ts'
export type { RunningTelemetry, StartTelemetryOptions } from './trace/start-sdk.ts'
export { runSampler } from './trace/sampler.ts'
export type { RunSampler } from './trace/sampler.ts'
