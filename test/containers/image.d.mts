export const defaultImage: string
export const image: string
