import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { instruments } from '../../src/trace/instruments.ts'

const file = fileURLToPath(new URL('../../docs/tracing.md', import.meta.url))
const page = readFileSync(file, 'utf8')

function metricsTable(): string {
  const rows = Object.entries(instruments).map(([name, instrument]) => {
    const { kind, unit, attributes, doc } = instrument
    const how = `${kind}, \`${unit}\`${'isRead' in instrument ? ', read' : ''}`
    return `| \`${name}\` | ${how} | ${attributes.map((each) => `\`${each}\``).join(', ')} | ${doc} |`
  })
  return ['| metric | kind, unit | attributes | is |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

test('the table of metrics in docs/tracing.md is that of the instruments', async () => {
  const written = page.replace(/(?<=<!-- metrics -->\n)[\s\S]*?(?=<!-- end -->)/, `${metricsTable()}\n`)
  await expect(written).toMatchFileSnapshot(file)
})
