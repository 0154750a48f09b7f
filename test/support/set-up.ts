import { afterAll } from 'vitest'
import { endPools } from './variant.ts'

afterAll(endPools)
