/** `Did you mean lease? Known are: …`, the first half only if one of them is close. */
export function didYouMean(given: string, known: readonly string[]): string {
  const close = closest(given, known)
  const list = `Known are: ${known.join(', ')}.`
  return close === undefined ? list : `Did you mean ${close}? ${list}`
}

function closest(given: string, known: readonly string[]): string | undefined {
  if (given.length > longestGuess) return undefined
  const scored = known.map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
  const best = scored.toSorted((a, b) => a.distance - b.distance)[0]
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined
}

const longestGuess = 64

/** Levenshtein: how many letters must be added, dropped or changed. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= b.length; column++) {
      const replaced = row[column - 1]! + (letter === b[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
