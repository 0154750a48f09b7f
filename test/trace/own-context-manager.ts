import { AsyncLocalStorage } from 'node:async_hooks'
import { ROOT_CONTEXT, type Context, type ContextManager } from '@opentelemetry/api'

export interface Instead {
  /** Gets the call that `with` is to make. */
  readonly with?: (call: () => unknown) => unknown
  readonly active?: () => Context
}

/** A context manager as a user may write one: no SDK's, and with a mind of its own. */
export class OwnContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  readonly #instead: Instead

  constructor(instead: Instead = {}) {
    this.#instead = instead
  }

  active(): Context {
    return this.#instead.active?.() ?? this.#storage.getStore() ?? ROOT_CONTEXT
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const call = (): unknown => this.#storage.run(context, () => fn.call(thisArg as never, ...args))
    return (this.#instead.with ? this.#instead.with(call) : call()) as ReturnType<F>
  }

  bind<T>(_context: Context, target: T): T {
    return target
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}
