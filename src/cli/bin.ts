#!/usr/bin/env node
import { createProgram } from './program.ts'
import { exitWith } from './exit.ts'

// A closed pipe (`workflow list | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

createProgram()
  .parseAsync(process.argv)
  .catch((error: unknown) => exitWith(error))
