/** Who asks what. One tenant asks far more than the others, and first. */
export const tenants: readonly { readonly name: string; readonly count: number }[] = [
  { name: 'archive', count: 24 },
  { name: 'bakery', count: 5 },
  { name: 'clinic', count: 5 },
]

const questions: readonly ((nth: number) => string)[] = [
  (nth) => `Where is order ${1000 + nth}?`,
  () => 'Are you open on sunday?',
  (nth) => `What is the price of honey, and where is order ${1000 + nth}?`,
  () => 'What is the price of tea?',
  () => 'Are you open on monday, and what is the price of a candle?',
]

export function questionsOf({ name, count }: (typeof tenants)[number]): { tenant: string; question: string }[] {
  return Array.from({ length: count }, (_, nth) => ({
    tenant: name,
    question: questions[nth % questions.length]!(nth),
  }))
}
