/** Holdfast three times over: with its tracing calls removed, without an SDK in the process, and with one that exports. */
import { holdfast, loadBuilt, openedWorkflow, quiet } from './holdfast.ts'
import type * as Database from '../../src/db/database.ts'
import type * as Registry from '../../src/define/registry.ts'
import type * as Clock from '../../src/model/clock.ts'
import type * as Release from '../../src/model/release.ts'
import type * as Otel from '../../src/otel.ts'
import type * as Migrate from '../../src/queue/migrate.ts'
import type * as Untraced from '../../src/trace/untraced.ts'
import type * as Timings from '../../src/worker/timings.ts'
import type * as Worker from '../../src/worker/worker.ts'
import type { Peer, PeerWorker, WorkerSide } from './peer.ts'

export const tracingNames = ['untraced', 'no_sdk', 'exporting'] as const
export type TracingName = (typeof tracingNames)[number]

/** Loaded before the clock starts, as everything is. */
const sdk = [
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/exporter-metrics-otlp-proto',
]

const built = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href

/** The worker that createWorker makes, but for its telemetry: that is one that does nothing, and calls nobody. */
const startUntraced: WorkerSide['startWorker'] = async (load, calls): Promise<PeerWorker> => {
  const { Database: Own } = (await import(built('db/database.js'))) as typeof Database
  const { createRegistry } = (await import(built('define/registry.js'))) as typeof Registry
  const { systemClock } = (await import(built('model/clock.js'))) as typeof Clock
  const { untraced } = (await import(built('trace/untraced.js'))) as typeof Untraced
  const { release } = (await import(built('model/release.js'))) as typeof Release
  const { migrate } = (await import(built('queue/migrate.js'))) as typeof Migrate
  const { defaultTimings } = (await import(built('worker/timings.js'))) as typeof Timings
  const { WorkerCore } = (await import(built('worker/worker.js'))) as typeof Worker
  const database = new Own({ connectionString: load.connectionString, clock: systemClock })
  const worker = new WorkerCore({
    database,
    registry: createRegistry([await openedWorkflow(load, calls)]),
    concurrency: load.slots,
    graceMs: 20_000,
    clock: systemClock,
    log: quiet,
    timings: defaultTimings,
    telemetry: untraced,
    prepare: async () => void (await migrate(database, release)),
    release: () => database.close(),
  })
  await worker.start()
  return { stop: () => worker.stop() }
}

const startExporting: WorkerSide['startWorker'] = async (load, calls) => {
  const { startTelemetry } = (await import(built('otel.js'))) as typeof Otel
  const telemetry = await startTelemetry({ serviceName: 'bench', endpoint: load.otlp })
  const worker = await holdfast.startWorker(load, calls)
  return {
    stop: async () => {
      await worker.stop()
      await telemetry.shutdown()
    },
  }
}

async function prepareWorker(): Promise<void> {
  await Promise.all([loadBuilt(), import(built('otel.js')), ...sdk.map((name) => import(name))])
}

export const tracing: Readonly<Record<TracingName, Peer>> = {
  untraced: { ...holdfast, prepareWorker, startWorker: startUntraced },
  no_sdk: { ...holdfast, prepareWorker },
  exporting: { ...holdfast, prepareWorker, startWorker: startExporting },
}
