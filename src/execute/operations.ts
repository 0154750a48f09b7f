import { checkName } from '../define/define-signal.ts'
import { ArgumentError, VersionError } from '../model/errors.ts'
import type { MapOptions } from '../model/run.ts'
import { Calls, type CallsOptions } from './calls.ts'
import { Children } from './children.ts'
import { inItem, scopeOfItem } from './item-scope.ts'
import { noStepOptions } from './step-options.ts'
import { Steps, type Undoable } from './steps.ts'
import { Waits } from './waits.ts'

const defaultConcurrency = 10
/** The version of a place that had none yet. */
const wayBefore = 1

/** What a handler can do durably in one claim. */
export class Operations {
  readonly calls: Calls
  readonly steps: Steps
  readonly waits: Waits
  readonly children: Children

  constructor(options: CallsOptions, onUndoable?: (undoable: Undoable) => void) {
    this.calls = new Calls(options)
    this.steps = new Steps(this.calls, onUndoable)
    this.waits = new Waits(this.calls)
    this.children = new Children(this.calls, this.waits)
  }

  /** It is no call itself: its items' are, under keys of their own. */
  async map<T, R>(
    name: string,
    items: readonly T[],
    fn: (item: T, index: number) => Promise<R> | R,
    options: MapOptions = {},
  ): Promise<R[]> {
    const { concurrency = defaultConcurrency } = options
    checkName(name, 'step')
    this.calls.refuseInside(name)
    checkMap(items, fn, concurrency)
    const scope = this.calls.ledger.keyOf(scopeOfItem() + name)
    const answers = Array.from<R>({ length: items.length })
    let next = 0
    let failure: { readonly thrown: unknown } | undefined
    const work = async (): Promise<void> => {
      while (next < items.length && !failure) {
        const index = next++
        try {
          answers[index] = await inItem(`${scope}[${index}]/`, async () => await fn(items[index] as T, index))
        } catch (thrown) {
          failure ??= { thrown }
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work))
    if (failure) throw failure.thrown
    return answers
  }

  async version(name: string, min: number, max: number): Promise<number> {
    checkName(name, 'step')
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min < 1 || min > max) {
      throw new ArgumentError(`run.version was given ${min} to ${max}.`, {
        field: 'min',
        remedy: 'Give two whole numbers from 1, the way before the place had versions; the lesser first.',
      })
    }
    // What was kept and comes after this place was made by code that did not have it.
    const choose = (): number => (this.calls.ledger.nextUnread ? wayBefore : max)
    const body = { kind: 'plain', name: undefined, run: choose } as const
    const kept = this.steps.call(`[version]${name}`, noStepOptions, body, true)
    // What runs beside it must not be on record first: it would seem to be from before this place.
    this.calls.failures.hold(kept)
    const version = (await kept) as number
    if (version >= min && version <= max) return version
    throw new VersionError(`The run went version ${version} of "${name}", and its code knows ${min} to ${max}.`, {
      field: 'name',
      remedy: 'Deploy code that still knows that version until such runs have ended.',
    })
  }
}

function checkMap(items: unknown, fn: unknown, concurrency: unknown): void {
  const isCount = Number.isInteger(concurrency) && Number(concurrency) >= 1
  if (Array.isArray(items) && typeof fn === 'function' && isCount) return
  const field = !Array.isArray(items) ? 'items' : typeof fn === 'function' ? 'concurrency' : 'fn'
  throw new ArgumentError(`run.map was given wrong ${field}.`, {
    field,
    remedy: 'Give an array, a function of an item, and a concurrency of at least 1.',
  })
}
