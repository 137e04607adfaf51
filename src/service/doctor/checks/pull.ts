import { shownMs } from '../api_server.ts';
import type { Check } from '../finding.ts';

interface Facts {
  /** Messages of the Events `Pulled` of the preflight's pods. */
  messages: readonly string[];
}

interface Pull {
  ms: number;
  bytes: number | undefined;
}

const WARN_MS = 30_000;

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 0.001 };

/** `1m2.5s` as milliseconds. */
function msOf(duration: string): number {
  const parts = duration.matchAll(/([\d.]+)(h|ms|m|µs|s)/g);
  return [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit!]!, 0);
}

/** `Successfully pulled image "x" in 1.2s (1.5s including waiting). Image size: 300 bytes.` */
export function pullIn(message: string): Pull | undefined {
  const [, alone] = /^Successfully pulled image ".*?" in (\S+)/.exec(message) ?? [];
  if (alone === undefined) return undefined;
  const [, bytes] = /Image size: (\d+) bytes/.exec(message) ?? [];
  return { ms: msOf(alone), bytes: bytes === undefined ? undefined : Number(bytes) };
}

export const pull: Check<Facts> = {
  id: 'pull',
  title: 'image pull time',
  wanted: `within ${shownMs(WARN_MS)}`,
  why: 'A new node starts no runner before it has the images. runners.prePull keeps them on each node.',
  verdict({ messages }) {
    const pulls = messages.flatMap((message) => pullIn(message) ?? []);
    const slowest = pulls.toSorted((a, b) => b.ms - a.ms)[0];
    if (slowest === undefined)
      return messages.length === 0
        ? { status: 'unknown', found: 'no node said that it has the image' }
        : { status: 'unknown', found: 'the nodes that were used had the image before' };
    const size = slowest.bytes === undefined ? '' : ` for ${Math.round(slowest.bytes / 1e6)} MB`;
    const found = `${shownMs(slowest.ms)}${size}`;
    if (slowest.ms <= WARN_MS) return { status: 'pass', found };
    return { status: 'warn', found, set: { 'runners.prePull.enabled': true } };
  },
};
