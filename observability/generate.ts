import { writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { overview } from './dashboards/overview.ts'
import { runExplorer } from './dashboards/run-explorer.ts'

export interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** The dashboards as Grafana reads them, each with the path it is kept under. */
export function generate(): Promise<GeneratedFile[]> {
  return Promise.all([overview(), runExplorer()].map(fileOf))
}

async function fileOf(dashboard: { readonly uid: string }): Promise<GeneratedFile> {
  const path = fileURLToPath(new URL(`grafana/dashboards/${dashboard.uid}.json`, import.meta.url))
  const style = await resolveConfig(path)
  return { path, text: await format(JSON.stringify(dashboard), { ...style, filepath: path }) }
}

export async function writeDashboards(): Promise<void> {
  for (const { path, text } of await generate()) {
    await writeFile(path, text)
    console.log(relative('', path))
  }
}
