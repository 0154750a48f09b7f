/** How claims are tied to what started their run: by a link, as its children, or not at all. */
export type Propagation = (typeof propagations)[number]

export const propagations = ['link', 'child', 'none'] as const
