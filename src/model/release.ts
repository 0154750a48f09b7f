/** This release's number. A test compares it with package.json. */
export const release = '0.1.0'
