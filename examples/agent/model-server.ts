/**
 * A language model behind HTTP, with the habits of real ones: slow, and unwilling to be called in bursts. It understands
 * a handful of phrases. It counts for itself what it works on at once, and writes down every call.
 */
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Call {
  readonly tenant: string
  readonly runId: string
  readonly step: string
  readonly worker: string
  readonly status: 200 | 429
  /** `cut`: the caller went away before the answer. */
  end: 'in flight' | 'answered' | 'cut'
}

export interface ModelServer {
  readonly url: string
  readonly calls: readonly Call[]
  /** The most calls of a tenant, and of all of them together, that it ever had in flight at once. */
  readonly mostAtOnce: { readonly byTenant: ReadonlyMap<string, number>; readonly ofAll: number }
  /** Emits `call` when it begins to think, and `end` once a call has its answer or was cut. */
  readonly events: EventEmitter<{ call: [Call]; end: [Call] }>
  close(): void
}

/** More calls than that in so short a time are a burst: the next is answered 429. */
const burst = { calls: 2, withinMs: 50 }
const retryAfterSeconds = 1

export async function startModelServer(): Promise<ModelServer> {
  const calls: Call[] = []
  const inFlight = new Set<Call>()
  const mostByTenant = new Map<string, number>()
  let mostOfAll = 0
  let taken: number[] = []
  const events = new EventEmitter<{ call: [Call]; end: [Call] }>()

  function isBurst(): boolean {
    const now = performance.now()
    taken = taken.filter((at) => at > now - burst.withinMs)
    if (taken.length >= burst.calls) return true
    taken.push(now)
    return false
  }

  function begin(call: Call): void {
    calls.push(call)
    inFlight.add(call)
    const { tenant } = call
    const ofTenant = [...inFlight].filter((each) => each.tenant === tenant).length
    mostByTenant.set(tenant, Math.max(ofTenant, mostByTenant.get(tenant) ?? 0))
    mostOfAll = Math.max(inFlight.size, mostOfAll)
  }

  /** Before the answer leaves: once the caller has it, another call may take its place. */
  function end(call: Call, how: 'answered' | 'cut'): void {
    if (!inFlight.delete(call)) return
    call.end = how
    events.emit('end', call)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { question, findings } = (await readJson(request)) as { question: string; findings?: string[] }
    const header = (name: string): string => String(request.headers[name])
    const call: Call = {
      tenant: header('x-tenant'),
      runId: header('x-run'),
      step: header('x-step'),
      worker: header('x-worker'),
      status: isBurst() ? 429 : 200,
      end: 'in flight',
    }
    begin(call)
    response.once('close', () => end(call, 'cut'))
    if (call.status === 200) {
      events.emit('call', call)
      await delay(80 + 160 * fractionOf(`${question} ${call.step}`))
    }
    if (response.closed) return
    end(call, 'answered')
    response.writeHead(call.status, {
      'content-type': 'application/json',
      ...(call.status === 429 && { 'retry-after': String(retryAfterSeconds) }),
    })
    const body = findings ? { text: `${findings.join(', and ')}.` } : { toolCalls: toolsFor(question) }
    response.end(JSON.stringify(call.status === 200 ? body : { error: 'too many requests' }))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get mostAtOnce() {
      return { byTenant: mostByTenant, ofAll: mostOfAll }
    },
    events,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const phrases = [
  { tool: 'find order', pattern: /order (\d+)/ },
  { tool: 'look up hours', pattern: /open on (\w+)/ },
  { tool: 'look up price', pattern: /price of (?:a )?(\w+)/ },
]

function toolsFor(question: string): { tool: string; about: string }[] {
  return phrases.flatMap(({ tool, pattern }) => {
    const about = pattern.exec(question)?.[1]
    return about === undefined ? [] : [{ tool, about }]
  })
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
