import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { prometheusNames } from './metric-names.ts'

/** What each label takes in turn; one that is not here takes two values of no meaning. */
const values: Readonly<Record<string, readonly string[]>> = {
  error_type: ['', 'TypeError'],
  holdfast_batch_call: ['claim', 'keep', 'settle'],
  holdfast_claim_outcome: ['done', 'retry', 'failed'],
  holdfast_limit_kind: ['concurrency', 'rate'],
  holdfast_run_state: ['waiting', 'running', 'failed'],
  holdfast_start_result: ['created', 'existing'],
  holdfast_step_name: ['charge', 'ship', 'thank'],
  holdfast_worker_id: ['worker-1', 'worker-2'],
  holdfast_workflow_name: ['order', 'invoice'],
  le: ['0.01', '0.1', '1', '10', '+Inf'],
}

export interface Exporter {
  /** As host:port. */
  readonly address: string
  close(): void
}

/** Every metric with every value of its labels, as a process would serve it whose numbers grow from scrape to scrape. */
export async function startExporter(): Promise<Exporter> {
  let scrapes = 0
  const server = createServer((_, response) => {
    scrapes += 1
    response.setHeader('content-type', 'text/plain; version=0.0.4').end(exposition(scrapes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function exposition(scrapes: number): string {
  const lines = [...prometheusNames].flatMap(([name, labels]) =>
    combinations(labels).map(
      (pairs) => `${name}{${pairs.map(([label, value]) => `${label}="${value}"`).join(',')}} ${sample(pairs, scrapes)}`,
    ),
  )
  return `${lines.join('\n')}\n`
}

/** A bucket holds what is in the smaller ones too. */
function sample(pairs: readonly Pair[], scrapes: number): number {
  const bound = pairs.find(([label]) => label === 'le')?.[1]
  return scrapes * (bound === undefined ? 10 : 1 + (values['le'] ?? []).indexOf(bound))
}

type Pair = readonly [label: string, value: string]

function combinations([label, ...others]: readonly string[]): Pair[][] {
  if (label === undefined) return [[]]
  const rest = combinations(others)
  return (values[label] ?? ['one', 'other']).flatMap((value) =>
    rest.map((pairs) => [[label, value] as const, ...pairs]),
  )
}
