/** Finds the messages of Postgres' protocol in the bytes of one direction of a connection. */
export class Messages {
  /** A client's first message has no letter before its length. */
  #isLettered: boolean
  #received: Buffer = Buffer.alloc(0)

  constructor(isLettered: boolean) {
    this.#isLettered = isLettered
  }

  /** The messages that are whole now. */
  *take(chunk: Buffer): Generator<Buffer> {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    for (let message = this.#next(); message; message = this.#next()) yield message
  }

  #next(): Buffer | undefined {
    const lengthAt = this.#isLettered ? 1 : 0
    if (this.#received.length < lengthAt + 4) return undefined
    const end = lengthAt + this.#received.readUInt32BE(lengthAt)
    if (this.#received.length < end) return undefined
    const message = this.#received.subarray(0, end)
    this.#received = this.#received.subarray(end)
    this.#isLettered = true
    return message
  }
}
