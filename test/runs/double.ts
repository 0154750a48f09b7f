import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'

export const double = defineWorkflow({ name: 'double', input: z.number(), handler: (n) => n * 2 })
