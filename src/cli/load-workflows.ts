import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isWorkflow } from '../define/define-workflow.ts'
import { ConfigError } from '../model/errors.ts'
import type { Workflow } from '../model/workflow.ts'

/** Every definition that a file exports, alone or in an array. TypeScript is read as it is. */
export async function loadWorkflows(file: string): Promise<readonly Workflow[]> {
  const { createJiti } = await import('jiti')
  const path = resolve(file)
  let exported: Record<string, unknown>
  try {
    const jiti = createJiti(pathToFileURL(path).href, { interopDefault: false })
    exported = await jiti.import<Record<string, unknown>>(path)
  } catch (cause) {
    throw new ConfigError(`${file} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}.`, {
      field: '--code',
      remedy: 'Give a file that runs by itself, such as src/workflows.ts.',
      cause,
    })
  }
  const found = new Set(Object.values(exported).flat().filter(isWorkflow))
  if (found.size > 0) return [...found]
  throw new ConfigError(`${file} exports no workflow.`, {
    field: '--code',
    remedy: 'Export what defineWorkflow returns, or an array of them.',
  })
}
