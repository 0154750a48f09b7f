import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { pointsOf, spansOf, type ReceivedPoint, type ReceivedSpan } from './otlp-proto.ts'

export type { ReceivedSpan } from './otlp-proto.ts'

export interface OtlpReceiver {
  /** To be given to an exporter, without a path. */
  readonly endpoint: string
  readonly spans: readonly ReceivedSpan[]
  readonly points: readonly ReceivedPoint[]
  close(): Promise<void>
}

const accept = (response: ServerResponse): void => void response.writeHead(200).end()

/** A receiver on a free port of this machine. `answer` may do something else than accept. */
export async function startOtlpReceiver(answer: (response: ServerResponse) => void = accept): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const points: ReceivedPoint[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const sent = Buffer.concat(chunks)
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      if (request.url === '/v1/traces') spans.push(...spansOf(body))
      if (request.url === '/v1/metrics') points.push(...pointsOf(body))
      answer(response)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    points,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}
