/**
 * A payment provider with the habits of real ones: slow, at times busy, at times broken, and at times broken *after* it
 * has taken the money. It charges once per Idempotency-Key and writes down every call and every charge. What happens to
 * an order depends on its id alone, so each run of the example shows the same kinds of trouble.
 */
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Call {
  readonly orderId: string
  readonly worker: string
  /** What the call did to the money. `repeated`: its key had been charged before. */
  readonly effect: 'charged' | 'repeated' | 'none'
  readonly status: 200 | 429 | 500
  /** `cut`: the caller went away before the answer. */
  end: 'in flight' | 'answered' | 'cut'
}

interface Charge {
  readonly orderId: string
  readonly amountCents: number
  readonly receipt: string
}

export interface Ledger {
  readonly calls: readonly Call[]
  readonly charges: readonly Charge[]
}

export interface PaymentServer {
  readonly url: string
  readonly ledger: Ledger
  /** Emits `call` once a call has had its effect and before it is answered, and `end` after that. */
  readonly events: EventEmitter<{ call: [Call]; end: [Call] }>
  close(): void
}

type Mood = 'well' | 'busy' | 'broken before charging' | 'broken after charging'

export async function startPaymentServer(): Promise<PaymentServer> {
  const calls: Call[] = []
  const chargesByKey = new Map<string, Charge>()
  const callsByKey = new Map<string, number>()
  const events = new EventEmitter<{ call: [Call]; end: [Call] }>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key'])
    const { orderId, amountCents } = (await readJson(request)) as { orderId: string; amountCents: number }
    const nth = (callsByKey.get(key) ?? 0) + 1
    callsByKey.set(key, nth)

    const isRepeated = chargesByKey.has(key)
    const mood = isRepeated ? 'well' : moodFor(orderId, nth)
    const willCharge = mood === 'well' || mood === 'broken after charging'
    if (willCharge && !isRepeated) chargesByKey.set(key, { orderId, amountCents, receipt: receiptFor(key) })

    const call: Call = {
      orderId,
      worker: String(request.headers['x-worker']),
      effect: isRepeated ? 'repeated' : willCharge ? 'charged' : 'none',
      status: mood === 'well' ? 200 : mood === 'busy' ? 429 : 500,
      end: 'in flight',
    }
    calls.push(call)
    response.once('close', () => {
      call.end = response.writableFinished ? 'answered' : 'cut'
      events.emit('end', call)
    })
    events.emit('call', call)

    await delay(mood === 'busy' ? 20 : 100 + 300 * fractionOf(`slow ${orderId} ${nth}`))
    response.writeHead(call.status, {
      'content-type': 'application/json',
      ...(mood === 'busy' && { 'retry-after': '1' }),
    })
    response.end(JSON.stringify(call.status === 200 ? { receipt: chargesByKey.get(key)?.receipt } : { error: mood }))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ledger: {
      calls,
      get charges() {
        return [...chargesByKey.values()]
      },
    },
    events,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Trouble comes early: the third call for an order always goes well. */
function moodFor(orderId: string, nth: number): Mood {
  const dice = fractionOf(`mood ${orderId} ${nth}`)
  if (nth > 2 || dice > 0.2) return 'well'
  return dice < 0.1 ? 'busy' : dice < 0.15 ? 'broken before charging' : 'broken after charging'
}

function receiptFor(key: string): string {
  return `R-${createHash('sha256').update(key).digest('hex').slice(0, 10)}`
}

/** A number in [0, 1) that is always the same for the same text. */
function fractionOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}
