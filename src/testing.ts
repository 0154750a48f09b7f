/** `holdfast/testing`: workflows under test, on a real database and without waiting. */

export { createTestRuntime } from './testing/test-runtime.ts'
export type { TestRuntime } from './testing/test-runtime.ts'
export { crashTest } from './testing/crash-test.ts'
export type { CrashProblem, CrashReport } from './testing/crash-test.ts'
export type { CrashOutcome } from './testing/crash-outcome.ts'
export type { MockHandle, StepMock } from './testing/step-mock.ts'
export type {
  CrashPreparation,
  CrashSignal,
  CrashTestOptions,
  IdleOptions,
  MockOptions,
  TestRuntimeOptions,
} from './testing/testing-options.ts'
