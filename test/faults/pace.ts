/**
 * The pace of the product at rest, for one warm caller and for eight. Measured before and after a fault, it shows
 * lasting harm.
 */
import { median } from '../../bench/statistics.ts';
import { fixtures, type Cluster } from '../cluster/fixture.ts';

export interface Pace {
  warmMs: number;
  perSecond: number;
}

const ALONE = 40;
const TOGETHER = 80;
const CALLERS = 8;
const WARM_UP = 5;

export async function paceOf(c: Cluster): Promise<Pace> {
  const origin = await c.origin(fixtures);
  const { token } = await c.newToken(CALLERS);
  const probe = async (): Promise<number> => {
    const { status, ms, text } = await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token });
    if (status !== 200) throw new Error(`a warm probe was answered ${status}: ${text.slice(0, 200)}`);
    return ms;
  };
  for (let index = 0; index < WARM_UP; index++) await probe();
  const alone: number[] = [];
  for (let index = 0; index < ALONE; index++) alone.push(await probe());
  const began = performance.now();
  let left = TOGETHER;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left-- > 0) await probe();
    }),
  );
  return { warmMs: median(alone), perSecond: TOGETHER / ((performance.now() - began) / 1000) };
}

/**
 * Two runs of a machine at rest differ by up to 1.6. Lasting harm, such as a delay of every second connection, is far
 * above.
 */
const HARM = 2;
export const isHarmed = (now: Pace, before: Pace): boolean =>
  now.warmMs > before.warmMs * HARM || now.perSecond < before.perSecond / HARM;
