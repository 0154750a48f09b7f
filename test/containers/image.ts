/** What docker-compose.yml serves as well. */
export const defaultImage = 'postgres:18'

export const image: string = process.env['HOLDFAST_TEST_IMAGE'] ?? defaultImage
