import { setTimeout as delay } from 'node:timers/promises';
import type { Probe } from '../finding.ts';
import { openApiServer, shownMs, type Answer } from '../api_server.ts';
import type { Settings } from '../settings.ts';

const CALLS = 12;
const GAP_MS = 100;
const WARN_MS = 2_000;
/** Two machines may differ by a minute. */
const FAIL_MS = 60_000;

type Times = Pick<Answer, 'date' | 'sentAt' | 'receivedAt'>;

/**
 * By how much the server's clock is ahead: each answer bounds it, because the server's second began before it was
 * received, and ended after it was sent.
 */
export function bounds(answers: readonly Times[]): { least: number; most: number } {
  return {
    least: Math.max(...answers.map(({ date, receivedAt }) => date - receivedAt)),
    most: Math.min(...answers.map(({ date, sentAt }) => date + 1000 - sentAt)),
  };
}

export const clock: Probe<readonly Times[], Settings> = {
  id: 'clock',
  title: 'clock',
  wanted: `at most ${shownMs(WARN_MS)} apart from the API server's`,
  why: 'Tokens and certificates are valid by the clock. Let the nodes keep time by NTP.',
  async collect(settings) {
    const server = await openApiServer(settings);
    try {
      const answers: Answer[] = [];
      for (let call = 0; call < CALLS; call++) {
        if (call > 0) await delay(GAP_MS);
        answers.push(await server.ask());
      }
      return answers;
    } finally {
      server.close();
    }
  },
  verdict(answers) {
    const dated = answers.filter(({ date }) => !Number.isNaN(date));
    if (dated.length === 0) return { status: 'unknown', found: 'the API server does not say which time it is' };
    const { least, most } = bounds(dated);
    if (least > most) return { status: 'warn', found: 'a clock was set while it was read' };
    const middle = (least + most) / 2;
    const apart = Math.max(0, least, -most);
    const side = middle > 0 ? 'behind' : 'ahead of';
    const found = `${shownMs(Math.abs(middle))} ${side} the API server's, within ${shownMs((most - least) / 2)}`;
    if (apart >= FAIL_MS) return { status: 'fail', found };
    return { status: apart >= WARN_MS ? 'warn' : 'pass', found };
  },
};
