/** Every long-lived part of a worker. `start` resolves when it works; `stop` when nothing of it is left. */
export interface Part {
  start(): Promise<void>
  stop(): Promise<void>
}
