/** What must not be, found by a rule; with the run that it was found at, if it is one run's. */
export interface Finding {
  readonly what: string
  readonly run?: string
}
