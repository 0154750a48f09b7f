import { AsyncLocalStorage } from 'node:async_hooks'

/** Which item of which `run.map` a call is made for: what its keys begin with, such as `import[17]/`. */

const scopes = new AsyncLocalStorage<string>()
/** Until some handler maps, nobody pays for looking. */
let isUsed = false

export function scopeOfItem(): string {
  return isUsed ? (scopes.getStore() ?? '') : ''
}

export function inItem<T>(scope: string, work: () => T): T {
  isUsed = true
  return scopes.run(scope, work)
}
