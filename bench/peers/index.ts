import { ceiling } from './ceiling.ts'
import { graphile } from './graphile.ts'
import { holdfast } from './holdfast.ts'
import type { Peer, PeerName } from './peer.ts'

export const peers: Readonly<Record<PeerName, Peer>> = { ceiling, graphile, holdfast }
