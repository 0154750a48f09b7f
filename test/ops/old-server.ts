import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Speaks just enough of the protocol to be asked for its version, which is an old one. Anything else it is asked, it notes. */
export class OldServer {
  readonly asked: string[] = []
  readonly #server: Server
  readonly #version: string

  private constructor(server: Server, version: string) {
    this.#server = server
    this.#version = version
    server.on('connection', (socket) => this.#serve(socket))
  }

  /** `version` as in server_version_num. */
  static async open(version: string): Promise<OldServer> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new OldServer(server, version)
  }

  get connectionString(): string {
    return `postgres://somebody@127.0.0.1:${(this.#server.address() as AddressInfo).port}/old`
  }

  async close(): Promise<void> {
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(socket: Socket): void {
    let isStarted = false
    let bytes = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      // A start-up message has no type before its length.
      for (let at = isStarted ? 1 : 0; bytes.length >= at + 4; at = 1) {
        const end = at + bytes.readUInt32BE(at)
        if (bytes.length < end) return
        const [type, body] = [bytes.toString('latin1', 0, at), bytes.subarray(at + 4, end)]
        bytes = bytes.subarray(end)
        if (type === '') socket.write(Buffer.concat([message('R', int32(0)), ready]))
        if (type === 'Q') socket.write(this.#answer(body.toString('utf8', 0, body.length - 1)))
        if (type === 'P') {
          this.asked.push(body.toString())
          socket.destroy()
        }
        if (type === 'X') socket.end()
        isStarted = true
      }
    })
  }

  #answer(query: string): Buffer {
    if (!query.includes('server_version_num')) {
      if (!query.startsWith('set ')) this.asked.push(query)
      return Buffer.concat([message('C', text('SET')), ready])
    }
    const column = Buffer.concat([text('version'), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)])
    const value = Buffer.from(this.#version)
    return Buffer.concat([
      message('T', int16(1), column),
      message('D', int16(1), int32(value.length), value),
      message('C', text('SELECT 1')),
      ready,
    ])
  }
}

function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

const ready = message('Z', Buffer.from('I'))
