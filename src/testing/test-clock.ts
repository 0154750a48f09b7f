import { systemClock, type Clock } from '../model/clock.ts'

/** A step's waits between its tries are spent in memory up to this; the handler's last steps get as long, in real time. */
const shortMs = 10_000

/** The process's clocks under a time that was moved. Only the time of day moves; stretches stay what they are. */
export class TestClock {
  aheadMs: number = 0

  /** For clients and workers. */
  readonly clock: Clock = { ...systemClock, wallClock: () => systemClock.wallClock() + this.aheadMs }

  /** For handlers: what a step would wait for in memory, before its next try, passes at once. */
  readonly handlerClock: Clock = {
    ...this.clock,
    sleep: (ms, abortSignal) => systemClock.sleep(ms < shortMs ? 0 : ms, abortSignal),
  }
}
