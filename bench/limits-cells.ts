/** What the limits suite compares. Each cell is a ratio of two sides that differ in one thing. */
import type { Side } from './limits-round.ts'

export interface Cell {
  readonly ours: Side
  readonly theirs: Side
}

export const cellNames = ['many_groups', 'saturated', 'other_groups', 'unlimited_beside', 'depth'] as const
export type CellName = (typeof cellNames)[number]

/** The least that each may be. */
export const bars: Readonly<Record<CellName, number>> = {
  many_groups: 0.75,
  saturated: 0.7,
  other_groups: 0.9,
  unlimited_beside: 0.9,
  depth: 0.8,
}

const slots = 64

const manyGroups: Side = { workflows: ['limited'], groups: 1000, slots, runs: 20_000, hasBacklog: false }
const saturated: Side = { workflows: ['limited'], groups: 10, slots, runs: 8_000, hasBacklog: false }
const beside: Side = { workflows: ['free', 'limited'], groups: 1, slots, runs: 30_000, hasBacklog: false }

export const cells: Readonly<Record<Exclude<CellName, 'depth'>, Cell>> = {
  many_groups: { ours: manyGroups, theirs: { ...manyGroups, workflows: ['free'] } },
  // As many at once as the groups let in.
  saturated: { ours: saturated, theirs: { ...saturated, workflows: ['free'], slots: saturated.groups } },
  other_groups: { ours: { ...saturated, hasBacklog: true }, theirs: saturated },
  unlimited_beside: { ours: { ...beside, hasBacklog: true }, theirs: beside },
}
