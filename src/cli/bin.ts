#!/usr/bin/env node
import { createProgram } from './program.ts'
import { exitWith } from './exit.ts'

const isClosedPipe = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE'

// A reader that has enough (`workflow list | head`) is no error.
process.stdout.on('error', (error) => {
  if (!isClosedPipe(error)) throw error
  process.exit(0)
})

// Nor is one that no longer wants to know: a worker goes on, and a command ends as it would have.
process.stderr.on('error', (error) => {
  if (!isClosedPipe(error)) throw error
})

createProgram()
  .parseAsync(process.argv)
  .catch((error: unknown) => exitWith(error))
