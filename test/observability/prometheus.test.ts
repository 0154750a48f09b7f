import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startExporter } from './exporter.ts'
import type { Exporter } from './exporter.ts'
import { metricQueries, named } from './panel-queries.ts'
import { program, startPrometheus } from './prometheus.ts'
import type { Prometheus } from './prometheus.ts'

describe.skipIf(program === undefined)('with a `prometheus` on the PATH', () => {
  let exporter: Exporter
  let prometheus: Prometheus

  beforeAll(async () => {
    exporter = await startExporter()
    prometheus = await startPrometheus(program ?? '', exporter.address)
    await vi.waitFor(async () => expect(await prometheus.ask('count_over_time(up[1m]) >= 3')).toHaveLength(1), {
      timeout: 30_000,
      interval: 50,
    })
  })

  afterAll(async () => {
    await prometheus.stop()
    exporter.close()
  })

  test.each(metricQueries.map(named))('%s shows numbers', async (_, { text }) => {
    await vi.waitFor(
      async () => {
        const values = await prometheus.ask(text)
        expect(values).not.toEqual([])
        expect(values.filter((value) => !Number.isFinite(value))).toEqual([])
      },
      { timeout: 15_000, interval: 50 },
    )
  })

  test('a query of something that is not there shows none', async () => {
    expect(await prometheus.ask('rate(holdfast_run_startled_total[5s])')).toEqual([])
    await expect(prometheus.ask('rate(holdfast_run_started_total)')).rejects.toThrow('expected type range vector')
  })
})
