import type { SpawnSyncOptionsWithStringEncoding, SpawnSyncReturns } from 'node:child_process'

export declare function runNpm(args: string[], options: SpawnSyncOptionsWithStringEncoding): SpawnSyncReturns<string>
