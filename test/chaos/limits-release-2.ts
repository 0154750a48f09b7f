import { workflows } from './limits-workflows.ts'

export { redeployed as deployed } from './limits-workflows.ts'
export const { solo, pairs, fives, plain, wide, fair, rated, ratedGroups, mixed } = workflows
