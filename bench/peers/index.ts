import { ceiling } from './ceiling.ts'
import { graphile } from './graphile.ts'
import { holdfast } from './holdfast.ts'
import type { Peer, PeerName, TimedPeer, TimedPeerName } from './peer.ts'

export const peers: Readonly<Record<PeerName, Peer>> = { ceiling, graphile, holdfast }

export const timedPeers: Readonly<Record<TimedPeerName, TimedPeer>> = { graphile, holdfast }
