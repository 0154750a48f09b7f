import { expect, test } from 'vitest'
import { generate } from '../../observability/generate.ts'
import { dashboards, folder } from './panel-queries.ts'
import type { GridPos } from './panel-queries.ts'

test('the dashboards in the repository are what their TypeScript generates: else `node scripts/dashboards.mjs`', async () => {
  const kept = dashboards.map(({ file, text }) => [`${folder}${file}`, text])
  expect(kept).toEqual((await generate()).map(({ path, text }) => [path, text]))
})

test('generating twice gives the same', async () => {
  expect(await generate()).toEqual(await generate())
})

test.each(dashboards.map((dashboard) => [dashboard.file, dashboard] as const))(
  '%s has a place, a number and a word of explanation for each panel',
  (file, { content }) => {
    expect(file).toBe(`${content.uid}.json`)
    expect(content.schemaVersion).toBe(42)
    const { panels } = content
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)

    const places = panels.flatMap(({ gridPos }) => placesOf(gridPos))
    expect(new Set(places).size).toBe(places.length)
    expect(panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([])

    const asking = panels.filter(({ targets }) => targets !== undefined)
    expect(asking.filter(({ description }) => !/^[A-Z][^?]+\?/.test(description ?? ''))).toEqual([])
    const measuring = asking.filter(({ targets }) =>
      targets?.some(({ datasource }) => datasource.type === 'prometheus'),
    )
    expect(measuring.filter(({ fieldConfig }) => !fieldConfig?.defaults.unit)).toEqual([])
  },
)

function placesOf({ x, y, w, h }: GridPos): string[] {
  return Array.from({ length: w * h }, (_, nth) => `${x + (nth % w)} ${y + Math.floor(nth / w)}`)
}
