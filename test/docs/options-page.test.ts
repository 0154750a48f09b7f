import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { optionTables } from '../../src/define/options.ts'
import { renderOptions } from '../../src/define/render-options.ts'
import { root } from './pages.ts'

const path = `${root}docs/options.md`

// After a change of an option: npx vitest run test/docs/options-page.test.ts --update
test("the tables of docs/options.md are those of the options' declarations", async () => {
  const page = readFileSync(path, 'utf8')
  const found: string[] = []
  const rendered = page.replaceAll(
    /(<!-- options of (\w+) -->\n)[\s\S]*?(?=<!-- end -->)/g,
    (_, marker: string, name: string) => {
      found.push(name)
      return marker + renderOptions(optionTables[name as keyof typeof optionTables])
    },
  )
  expect(found).toEqual(Object.keys(optionTables))
  await expect(rendered).toMatchFileSnapshot(path)
})
