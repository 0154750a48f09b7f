// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { z } from 'zod'
import type { Option } from '../../src/define/option.ts'

// an option that always has a value declares a default or is required
const declared = { type: 'number', check: () => z.number(), doc: '' }
const maybe: Option<number | undefined> = declared
const always: Option<number> = { ...declared, default: 1 }
const required: Option<number> = { ...declared, isRequired: true }
// @ts-expect-error -- neither a default nor required
const neither: Option<number> = declared
// @ts-expect-error -- the check yields another type
const otherType: Option<string> = { ...declared, default: 1 }
void [maybe, always, required, neither, otherType]
