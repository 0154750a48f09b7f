/** Milliseconds by the machine's monotonic clock: every process reads the same one, so that two may be compared. */
export function instant(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
