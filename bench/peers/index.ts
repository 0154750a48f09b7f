import { ceiling } from './ceiling.ts'
import { graphile } from './graphile.ts'
import { holdfast } from './holdfast.ts'
import { limited } from './limited.ts'
import type { Peer, PeerName, TimedPeer, TimedPeerName, WorkerSide } from './peer.ts'
import { waits } from './waits.ts'

export const peers: Readonly<Record<PeerName, Peer>> = { ceiling, graphile, holdfast }

export const timedPeers: Readonly<Record<TimedPeerName, TimedPeer>> = { graphile, holdfast }

export type WorkerName = PeerName | 'limited' | 'waits'

export const workerSides: Readonly<Record<WorkerName, WorkerSide>> = { ...peers, limited, waits }
