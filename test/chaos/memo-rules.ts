import type { Finding } from './finding.ts'
import { groupBy } from './group-by.ts'
import type { Indexed } from './indexed.ts'

/** Two answers for one step, in the table, in a handler's hands, or in what a transaction left behind. */
export function* keptTwice(indexed: Indexed): Generator<Finding> {
  yield* twiceWritten(indexed)
  yield* twiceGiven(indexed)
  yield* wrongEffects(indexed)
  yield* twiceStarted(indexed)
}

function* twiceWritten({ eventsOf }: Indexed): Generator<Finding> {
  for (const [run, events] of eventsOf) {
    const kept = new Map<string, string | null>()
    for (const { subject, op, key, value } of events) {
      if (subject !== 'step' || key === null) continue
      if (op !== 'insert') yield { what: `The memo ${key} was changed after it was kept (${op}).`, run }
      else if (kept.has(key)) yield { what: `${key} was kept twice: ${kept.get(key)}, then ${value}.`, run }
      kept.set(key, value)
    }
  }
}

function* twiceGiven({ bodiesOf, memosOf }: Indexed): Generator<Finding> {
  for (const [run, lines] of bodiesOf) {
    const memos = new Map((memosOf.get(run) ?? []).map(({ key, value }) => [key, compact(value)]))
    const made = new Set<string>()
    for (const { did, key, value } of lines) if (did === 'end') made.add(`${key} ${JSON.stringify(value)}`)
    for (const { did, key, value } of lines) {
      if (did !== 'got') continue
      const given = JSON.stringify(value)
      if (memos.get(key) !== given) {
        yield { what: `A handler was given ${given} for ${key}; kept is ${memos.get(key)}.`, run }
      } else if (!made.has(`${key} ${given}`)) yield { what: `No body of ${key} ever answered ${given}.`, run }
    }
  }
}

function* wrongEffects({ runs, effectsOf, memosOf }: Indexed): Generator<Finding> {
  for (const { id, state } of runs.values()) {
    const memo = memosOf.get(id)?.find(({ key }) => key === 'effect')
    const effects = effectsOf.get(id) ?? []
    const wanted = memo ? [(JSON.parse(memo.value) as { nonce: string }).nonce] : []
    if (memo === undefined && state !== 'done' && effects.length === 0) continue
    const left = effects.map(({ nonce }) => nonce)
    if (String(left) !== String(wanted)) {
      yield { what: `Its transaction left [${left.join(', ')}]; its memo says [${wanted.join(', ')}].`, run: id }
    }
  }
}

function* twiceStarted({ evidence }: Indexed): Generator<Finding> {
  const byKey = groupBy(
    evidence.runs.filter(({ key }) => key !== null),
    ({ key }) => key ?? '',
  )
  for (const [key, runs] of byKey) if (runs.length > 1) yield { what: `${runs.length} runs have the key ${key}.` }
  for (const { id, key } of evidence.starts) {
    const named = key === undefined ? undefined : byKey.get(key)?.[0]
    if (named && named.id !== id) yield { what: `A start with the key ${key} was answered with another run.`, run: id }
  }
}

/** A memo whose claim was not the run's any more when it was kept. */
export function* staleMemos({ eventsOf }: Indexed): Generator<Finding> {
  for (const [run, events] of eventsOf) {
    for (const memo of events) {
      if (memo.subject !== 'step' || memo.op !== 'insert') continue
      const end = events.find(
        ({ subject, oldToken, token }) => subject === 'run' && oldToken === memo.token && token !== oldToken,
      )
      // What a settle leaves is written with the end of its claim.
      if (end?.xid === memo.xid) continue
      if (memo.runToken !== memo.token) {
        yield { what: `${memo.key} was kept by claim ${memo.token} when the run's token was ${memo.runToken}.`, run }
      } else if (end && memo.committedAt !== null && end.committedAt !== null && memo.committedAt > end.committedAt) {
        yield { what: `${memo.key} of claim ${memo.token} was committed after that claim's end.`, run }
      }
    }
  }
}

/** As Postgres keeps the text that it was given, and as JSON.stringify writes it: alike but for spaces. */
function compact(json: string): string {
  return JSON.stringify(JSON.parse(json))
}
