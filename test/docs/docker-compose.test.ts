import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { defaultImage } from '../containers/image.mjs'
import { blocks, root } from './pages.ts'

interface Service {
  readonly image: string
  readonly environment: Readonly<Record<string, string>>
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
  readonly healthcheck: { readonly test: readonly string[] }
}

const text = readFileSync(`${root}docker-compose.yml`, 'utf8')
const file = parse(text) as { readonly services: Readonly<Record<string, Service>>; readonly volumes: object }
const { postgres } = file.services

test('docker-compose.yml uses no key that only some versions of compose know', () => {
  expect(Object.keys(file).toSorted()).toEqual(['services', 'volumes'])
  const known = ['environment', 'healthcheck', 'image', 'ports', 'profiles', 'volumes']
  const used = Object.values(file.services).flatMap((service) => Object.keys(service))
  expect(used.filter((key) => !known.includes(key))).toEqual([])
})

test('docker-compose.yml serves the image that the container tests start, with its data in a volume it declares', () => {
  expect(postgres?.image).toBe(defaultImage)
  const [volume, folder] = postgres?.volumes[0]?.split(':') ?? []
  expect(Object.keys(file.volumes)).toContain(volume)
  expect(folder).toBe('/var/lib/postgresql')
})

test('the DATABASE_URL that the pages and the file itself give for it opens the database it serves, and no other machine', () => {
  const [, hostPort, containerPort] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(postgres?.ports[0] ?? '') ?? []
  expect(containerPort).toBe('5432')
  const { POSTGRES_PASSWORD: password, POSTGRES_DB: name } = postgres?.environment ?? {}
  const served = `postgres://postgres:${password}@127.0.0.1:${hostPort}/${name}`
  const given = [text, ...blocks.flatMap(({ content }) => (content.includes('docker compose up') ? [content] : []))]
  expect(given.length).toBeGreaterThan(1)
  expect(given.map((place) => /DATABASE_URL=(\S+)/.exec(place)?.[1])).toEqual(given.map(() => served))
})

test('docker-compose.yml counts it healthy once that database answers over TCP', () => {
  const name = postgres?.environment['POSTGRES_DB']
  expect(postgres?.healthcheck.test).toEqual([
    'CMD',
    'pg_isready',
    '--host=127.0.0.1',
    '--username=postgres',
    `--dbname=${name}`,
  ])
})
