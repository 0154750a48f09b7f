import { createJiti } from 'jiti'

// `node scripts/dashboards.mjs`: writes observability/grafana/dashboards anew, from the TypeScript beside it.

const { writeDashboards } = await createJiti(import.meta.url).import('../observability/generate.ts')
await writeDashboards()
