import type { StandardSchemaV1 } from '@standard-schema/spec'

/** Any schema library that speaks Standard Schema: zod, valibot, arktype, … */
export type Schema = StandardSchemaV1

/** What `start` takes, and what is stored. */
export type In<T extends Schema | undefined> = T extends Schema ? StandardSchemaV1.InferInput<T> : undefined

/** What the handler and `group` get. */
export type Parsed<T extends Schema | undefined> = T extends Schema ? StandardSchemaV1.InferOutput<T> : undefined
