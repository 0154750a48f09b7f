/** What the agent may call. In earnest these would be your services and tables. */
import { setTimeout as delay } from 'node:timers/promises'

export const toolNames = ['find order', 'look up hours', 'look up price'] as const

type ToolName = (typeof toolNames)[number]

const pricesCents: Record<string, number> = { honey: 890, tea: 540, candle: 1250 }

export const tools: Record<ToolName, (about: string) => Promise<string>> = {
  'find order': async (about) => {
    await delay(20)
    const isSent = Number(about) % 3 !== 0
    return isSent ? `order ${about} has been sent` : `order ${about} is being packed`
  },
  'look up hours': async (about) => {
    await delay(10)
    return about === 'sunday' ? 'closed on sunday' : `open from 9 to 18 on ${about}`
  },
  'look up price': async (about) => {
    await delay(10)
    const cents = pricesCents[about]
    return cents === undefined ? `${about} is not sold here` : `${about} costs ${(cents / 100).toFixed(2)}`
  },
}
