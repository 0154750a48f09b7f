/** What docker-compose.yml serves as well. */
export const defaultImage = 'postgres:18'

/** @type {string} */
export const image = process.env['HOLDFAST_TEST_IMAGE'] ?? defaultImage
