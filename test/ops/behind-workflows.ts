import { hour, setOff } from './clocked-workflows.ts'

export { long, prompt } from './clocked-workflows.ts'

setOff(-hour)
