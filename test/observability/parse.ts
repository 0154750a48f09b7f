import { parser as traceql } from '@grafana/lezer-traceql'
import type { Parser } from '@lezer/common'
import { parser as promql } from '@prometheus-io/lezer-promql'

const parsers: Readonly<Record<'promql' | 'traceql', Parser>> = { promql, traceql }

interface Node {
  readonly text: string
  readonly from: number
  readonly to: number
}

export interface Parsed {
  /** What stands where the grammar was not met; empty: it is a query. */
  readonly errors: readonly Node[]
  /** The nodes of a kind, those within another only, in their order. */
  nodes(kind: string, within?: Node): Node[]
}

export function parse(language: keyof typeof parsers, query: string): Parsed {
  const tree = parsers[language].parse(query)
  const errors: Node[] = []
  const all: (Node & { readonly kind: string })[] = []
  tree.iterate({
    enter: ({ name, type, from, to }) => {
      const node = { kind: name, text: query.slice(from, to), from, to }
      all.push(node)
      if (type.isError) errors.push(node)
    },
  })
  return {
    errors,
    nodes: (kind, within = { text: query, from: 0, to: query.length }) =>
      all.filter((node) => node.kind === kind && node.from >= within.from && node.to <= within.to),
  }
}
