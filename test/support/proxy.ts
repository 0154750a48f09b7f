import { afterEach } from 'vitest'
import type { Address } from './database.ts'
import { Proxy } from './tcp-proxy.ts'

export { Proxy, type CutOptions } from './tcp-proxy.ts'

const open = new Set<Proxy>()

afterEach(async () => {
  await Promise.all([...open].map((proxy) => proxy.close()))
  open.clear()
})

/** A proxy to the server of that address, closed after the test at the latest. */
export async function startProxy(address: Address): Promise<Proxy> {
  const proxy = new Proxy(address)
  open.add(proxy)
  await proxy.listen()
  return proxy
}
