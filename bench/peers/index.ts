import { ceiling } from './ceiling.ts'
import { graphile } from './graphile.ts'
import { holdfast } from './holdfast.ts'
import { limited } from './limited.ts'
import type { Peer, PeerName, TimedPeer, TimedPeerName, WorkerSide } from './peer.ts'
import { tracing, type TracingName } from './tracing.ts'
import { waits } from './waits.ts'

const peers: Readonly<Record<PeerName, Peer>> = { ceiling, graphile, holdfast }

/** Who may play a round of throughput. */
export const roundPeers: Readonly<Record<PeerName | TracingName, Peer>> = { ...peers, ...tracing }

export const timedPeers: Readonly<Record<TimedPeerName, TimedPeer>> = { graphile, holdfast }

export type WorkerName = PeerName | TracingName | 'limited' | 'waits'

export const workerSides: Readonly<Record<WorkerName, WorkerSide>> = { ...roundPeers, limited, waits }
