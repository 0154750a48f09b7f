import type { Command } from 'commander'
import { userInfo } from 'node:os'

export interface ByFlags {
  readonly by?: string
}

/** For what an operator does and others may ask about. */
export function byWhom(command: Command): Command {
  return command.option('--by <name>', 'who does it (default: the name of the user)')
}

export function whoIs({ by }: ByFlags): string {
  return by ?? userInfo().username
}
