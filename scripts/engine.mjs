import { createRequire } from 'node:module'
import { image } from '../test/containers/image.mjs'

/** Why no container of that image can be started here; undefined: it can. Engines are looked for as testcontainers does. */
export async function whyNoEngine() {
  const require = createRequire(import.meta.resolve('@testcontainers/postgresql'))
  const { getContainerRuntimeClient, ImageName } = require('testcontainers')
  let images
  try {
    images = (await getContainerRuntimeClient()).image
  } catch (error) {
    return `no container engine answers (${error.message}). Start Docker, or say in DOCKER_HOST where one is.`
  }
  try {
    const name = ImageName.fromString(image)
    if (!(await images.exists(name))) await images.pull(name)
    return undefined
  } catch (error) {
    return `the engine has no image ${image} and cannot get it (${error.message}). Name another in HOLDFAST_TEST_IMAGE.`
  }
}
