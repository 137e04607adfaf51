import type { Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';
import { api } from './api.ts';

/** A request may wait for a runner. */
const PROBE_MS = 60_000;

interface Facts {
  source: string;
  /** Undefined: it was probed. */
  problem: string | undefined;
}

async function problemOf(url: string, source: string, token: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/probe/file?${new URLSearchParams({ url: source })}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PROBE_MS),
    });
    const answer = (await response.json()) as { success?: boolean; error?: string };
    return answer.success === true ? undefined : `HTTP ${response.status}: ${answer.error ?? 'no success'}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

export const sample: Probe<Facts, Settings> = {
  id: 'sample',
  title: 'sample',
  wanted: 'the sample is probed',
  why: 'A request passes through every part: `kubectl describe probejobs` says where it stopped.',
  async collect(settings) {
    const { api: url, source, token } = settings;
    if (url === undefined || source === undefined) throw new Error('--api or --source is missing');
    const isUp = api.verdict(await api.collect(settings)).status === 'pass';
    return { source, problem: isUp ? await problemOf(url, source, token) : 'the API does not answer' };
  },
  verdict: ({ source, problem }) =>
    problem === undefined
      ? { status: 'pass', found: `${source} was probed` }
      : { status: 'fail', found: `${source} was not probed: ${problem}` },
};
