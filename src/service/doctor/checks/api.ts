import { setTimeout as delay } from 'node:timers/promises';
import type { Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';

const ALL_MS = 30_000;
const TRY_MS = 3_000;

interface Facts {
  url: string;
  /** Undefined: it answers. */
  problem: string | undefined;
}

async function problemOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TRY_MS) });
    return response.ok ? undefined : `HTTP ${response.status}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

export const api: Probe<Facts, Settings> = {
  id: 'api',
  title: 'Probeyard API',
  wanted: `an answer within ${ALL_MS / 1000} s`,
  why: 'kubectl describes its pods, and says what they wait for.',
  async collect({ api: url }) {
    if (url === undefined) throw new Error('--api is missing');
    const end = performance.now() + ALL_MS;
    let problem = await problemOf(url);
    while (problem !== undefined && performance.now() < end) {
      await delay(500);
      problem = await problemOf(url);
    }
    return { url, problem };
  },
  verdict: ({ url, problem }) =>
    problem === undefined
      ? { status: 'pass', found: `it answers at ${url}` }
      : { status: 'fail', found: `it does not answer at ${url}: ${problem}` },
};
