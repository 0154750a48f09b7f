import {
  createNoopMeter,
  metrics,
  type Attributes,
  type Counter,
  type Histogram,
  type Meter,
  type MeterProvider,
  type ObservableGauge,
} from '@opentelemetry/api'
import { release } from '../model/release.ts'
import type { Guard } from './guard.ts'
import { boundsOf, instruments, type InstrumentName, type NameOf } from './instruments.ts'

/** What the API hands out where there is no SDK. */
const silentMeter = createNoopMeter()

/** What a gauge has to say: by name, each value with its attributes. */
export type Observe = (name: NameOf<'gauge'>, value: number, attributes: Attributes) => void

/** Asked by the SDK whenever it collects. */
export type Observer = (observe: Observe) => void | Promise<void>

interface Made {
  readonly meter: Meter
  readonly counters: Map<InstrumentName, Counter>
  readonly histograms: Map<InstrumentName, Histogram>
  readonly gauges: Map<InstrumentName, ObservableGauge>
  readonly callbacks: Map<Observer, Parameters<Meter['addBatchObservableCallback']>[0]>
}

/**
 * The instruments. They are made when first needed, and anew when the process gets another provider: the API hands out
 * meters that stay silent to whoever asks before an SDK is there.
 */
export class Meters {
  readonly #given: MeterProvider | undefined
  readonly #guard: Guard
  readonly #observers = new Set<Observer>()
  #provider: MeterProvider | undefined
  #made: Made | undefined

  constructor(given: MeterProvider | undefined, guard: Guard) {
    this.#given = given
    this.#guard = guard
  }

  /** Nobody hears them just now: no SDK is there. */
  get isSilent(): boolean {
    return this.#guard.try(() => this.#current().meter === silentMeter, true)
  }

  add(name: NameOf<'counter'>, value: number, attributes: Attributes): void {
    this.#guard.try(() => this.#counter(name).add(value, attributes), undefined)
  }

  record(name: NameOf<'histogram'>, value: number, attributes: Attributes): void {
    this.#guard.try(() => this.#histogram(name).record(value, attributes), undefined)
  }

  observe(observer: Observer): () => void {
    this.#observers.add(observer)
    this.#guard.try(() => {
      const made = this.#current()
      if (!made.callbacks.has(observer)) this.#listen(made, observer)
    }, undefined)
    return () => {
      this.#observers.delete(observer)
      const callback = this.#made?.callbacks.get(observer)
      const { meter, gauges } = this.#made ?? {}
      if (!callback || !meter || !gauges) return
      this.#guard.try(() => meter.removeBatchObservableCallback(callback, [...gauges.values()]), undefined)
    }
  }

  #current(): Made {
    const provider = this.#given ?? metrics.getMeterProvider()
    if (this.#made && provider === this.#provider) return this.#made
    this.#provider = provider
    const meter = provider.getMeter('holdfast', release)
    this.#made = { meter, counters: new Map(), histograms: new Map(), gauges: new Map(), callbacks: new Map() }
    for (const observer of this.#observers) this.#listen(this.#made, observer)
    return this.#made
  }

  #listen(made: Made, observer: Observer): void {
    for (const [name, { kind, unit, doc }] of Object.entries(instruments)) {
      if (kind !== 'gauge' || made.gauges.has(name as InstrumentName)) continue
      made.gauges.set(name as InstrumentName, made.meter.createObservableGauge(name, { unit, description: doc }))
    }
    const callback: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
      await observer((name, value, attributes) => {
        const gauge = made.gauges.get(name)
        if (gauge) result.observe(gauge, value, attributes)
      })
    }
    made.callbacks.set(observer, callback)
    made.meter.addBatchObservableCallback(callback, [...made.gauges.values()])
  }

  #counter(name: NameOf<'counter'>): Counter {
    const { meter, counters } = this.#current()
    let counter = counters.get(name)
    if (!counter) {
      const { unit, doc } = instruments[name]
      counter = meter.createCounter(name, { unit, description: doc })
      counters.set(name, counter)
    }
    return counter
  }

  #histogram(name: NameOf<'histogram'>): Histogram {
    const { meter, histograms } = this.#current()
    let histogram = histograms.get(name)
    if (!histogram) {
      const { unit, doc } = instruments[name]
      const advice = { explicitBucketBoundaries: boundsOf(unit) }
      histogram = meter.createHistogram(name, { unit, description: doc, advice })
      histograms.set(name, histogram)
    }
    return histogram
  }
}
