/** `holdfast/testing`: workflows under test, on a real database and without waiting. */

export { createTestRuntime } from './testing/test-runtime.ts'
export type { TestRuntime } from './testing/test-runtime.ts'
export type { MockHandle, StepMock } from './testing/step-mocks.ts'
export type { IdleOptions, MockOptions, TestRuntimeOptions } from './testing/testing-options.ts'
