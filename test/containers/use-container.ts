import { PostgreSqlContainer, type StartedPostgreSqlContainer } from '@testcontainers/postgresql'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import { image } from './image.mjs'

export interface Container {
  readonly connectionString: string
  /** SIGKILL for all that runs in it, then it is started on the same data. Resolves when the server answers. */
  killAndStart(): Promise<void>
}

/** A Postgres container that knows nothing of Holdfast, for the tests of a file. */
export function useContainer(): Container {
  let container: StartedPostgreSqlContainer | undefined
  const started = (): StartedPostgreSqlContainer => {
    if (!container) throw new Error('The container is there from the first test on.')
    return container
  }
  beforeAll(async () => {
    container = await new PostgreSqlContainer(image)
      .withUsername('holder')
      .withPassword('sesame')
      .withDatabase('held')
      // A port of the engine's choice would be another one after each start.
      .withExposedPorts({ container: 5432, host: await freePort() })
      .start()
  })
  afterAll(async () => void (await container?.stop()))
  return {
    get connectionString() {
      return started().getConnectionUri()
    },
    killAndStart: () => started().restart({ timeout: 0 }),
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
