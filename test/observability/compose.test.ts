import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboards, folder } from './panel-queries.ts'

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: object
}

interface Service {
  readonly image: string
  readonly profiles?: readonly string[]
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
  readonly healthcheck: { readonly test: readonly string[] }
}

interface Provisioning {
  readonly providers: readonly { readonly options: { readonly path: string } }[]
}

const root = resolve(folder, '../../..')
const { services, volumes } = parse(readFileSync(resolve(root, 'docker-compose.yml'), 'utf8')) as Compose
const stack = services['otel-lgtm']
const mounts = (stack?.volumes ?? []).map((volume) => {
  const [from = '', to = '', mode = 'rw'] = volume.split(':')
  return { from, to, mode }
})
const files = mounts.filter(({ from }) => from.startsWith('./'))

test('docker-compose.yml starts what shows traces and metrics only when asked, of one release, for this machine alone', () => {
  expect(stack?.profiles).toEqual(['observability'])
  expect(stack?.image).toMatch(/^grafana\/otel-lgtm:\d+\.\d+\.\d+$/)
  expect(stack?.ports).toEqual([3000, 4317, 4318].map((port) => `127.0.0.1:${port}:${port}`))
})

test('docker-compose.yml declares each volume that a service uses, and no other', () => {
  const used = Object.values(services).flatMap((service) => service.volumes.map((volume) => volume.split(':')[0]))
  expect(used.filter((volume) => !volume?.startsWith('./'))).toEqual(Object.keys(volumes))
})

test('Grafana reads our dashboards from where docker-compose.yml mounts them, and cannot write there', () => {
  expect(files.map(({ from, mode }) => [existsSync(resolve(root, from)), mode])).toEqual([
    [true, 'ro'],
    [true, 'ro'],
  ])
  const provider = files.find(({ to }) => dirname(to) === '/otel-lgtm/grafana/conf/provisioning/dashboards')
  const { providers } = parse(readFileSync(resolve(root, provider?.from ?? ''), 'utf8')) as Provisioning
  const shown = files.find(({ to }) => to === providers[0]?.options.path)
  expect(resolve(root, shown?.from ?? '')).toBe(resolve(folder))
  expect(dashboards.map(({ file }) => file)).toEqual(['holdfast-overview.json', 'holdfast-run-explorer.json'])
})
