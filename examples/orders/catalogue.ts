/** What the shop sells. There is less linden honey than the orders ask for, so the last of them must fail. */
export const catalogue: Readonly<Record<string, { name: string; priceCents: number; onHand: number }>> = {
  'TEA-ASSAM': { name: 'Assam, 100 g', priceCents: 890, onHand: 250 },
  'TEA-EARL-GREY': { name: 'Earl Grey, 100 g', priceCents: 990, onHand: 250 },
  'TEA-ROOIBOS': { name: 'Rooibos, 100 g', priceCents: 750, onHand: 200 },
  'TEA-SENCHA': { name: 'Sencha, 100 g', priceCents: 1240, onHand: 250 },
  'CUP-STONEWARE': { name: 'Stoneware cup', priceCents: 1450, onHand: 150 },
  'POT-CAST-IRON': { name: 'Cast-iron pot', priceCents: 5900, onHand: 60 },
  'TIN-LARGE': { name: 'Large tin', priceCents: 680, onHand: 120 },
  'HONEY-LINDEN': { name: 'Linden honey, 250 g', priceCents: 1190, onHand: 11 },
}
