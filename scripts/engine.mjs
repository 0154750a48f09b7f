import { createRequire } from 'node:module'

/** Why no container can be started here; undefined: an engine answers. It is looked for where testcontainers looks. */
export async function whyNoEngine() {
  const require = createRequire(import.meta.resolve('@testcontainers/postgresql'))
  try {
    await require('testcontainers').getContainerRuntimeClient()
    return undefined
  } catch (error) {
    return `no container engine answers (${error.message}). Start Docker, or say in DOCKER_HOST where one is.`
  }
}
