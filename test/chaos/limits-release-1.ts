import { workflows } from './limits-workflows.ts'

// A worker runs what its module exports.
export const { solo, pairs, fives, plain, wide, fair, rated, ratedGroups, mixed, deployed } = workflows
