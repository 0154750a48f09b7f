import { systemClock } from '../../src/model/clock.ts'
import type { FailPoint } from '../support/fail-points.ts'
import type { Fleet, Life } from './fleet.ts'

/** How long a process may take to come to the point at which it is to die or freeze; then it is done from outside. */
export const pointPatienceMs = 1_500

/** SIGKILL, at a point of its own or wherever it is just then. Answers whether that was how it ended. */
export async function kill(
  fleet: Fleet,
  life: Life,
  point: FailPoint | undefined,
  now: () => Promise<number>,
): Promise<boolean> {
  life.intent = 'be killed'
  if (point) {
    life.worker.arm(point)
    await Promise.race([life.worker.ended, systemClock.sleep(pointPatienceMs)])
  }
  const ended = life.worker.kill()
  life.killedAt = await now()
  fleet.replace(life, 'be killed')
  return (await ended).signal === 'SIGKILL'
}

/** SIGTERM, as a deploy sends it; another takes its place at once. */
export async function terminate(fleet: Fleet, life: Life): Promise<void> {
  fleet.replace(life, 'terminate')
  await fleet.terminate(life)
}
