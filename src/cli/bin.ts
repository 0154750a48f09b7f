#!/usr/bin/env node
import { createProgram } from './program.ts'
import { exitWith } from './exit.ts'

// A reader that has enough (`workflow list | head`) is no error; a disk that is full is one.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  exitWith(error)
})

createProgram()
  .parseAsync(process.argv)
  .catch((error: unknown) => exitWith(error))
