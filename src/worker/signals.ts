interface Stoppable {
  stop(): Promise<void>
  readonly done: Promise<void>
}

const signals = ['SIGTERM', 'SIGINT'] as const

/** SIGTERM or SIGINT stops the worker; a second one hurries it. */
export function stopOnSignals(worker: Stoppable): void {
  const stop = (): void => void worker.stop()
  for (const signal of signals) process.on(signal, stop)
  void worker.done.then(() => {
    for (const signal of signals) process.off(signal, stop)
  })
}
