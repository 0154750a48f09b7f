/** Runs `work` once a key for as long as it succeeds; a failure lets the next caller try again. */
export async function once(done: Map<string, Promise<void>>, key: string, work: () => Promise<void>): Promise<void> {
  const promise = done.get(key) ?? work()
  done.set(key, promise)
  try {
    await promise
  } catch (error) {
    done.delete(key)
    throw error
  }
}
