/** Shared by the measurements on the cluster, with access to it, paced callers, and warm pods for a token. */
import { setTimeout as delay } from 'node:timers/promises';
import { cluster, type Answer, type Cluster } from '../../test/cluster/fixture.ts';
import type { BareTool } from './tools.ts';

/** Pause between single requests, in which the work after a response ends (status, delete, free runner). */
const PAUSE_MS = 40;

export interface ToolPart {
  success: boolean;
  duration: number;
  response: unknown;
  error?: string;
}
export const partOf = ({ json }: Answer, tool: string): ToolPart => json[tool] as ToolPart;
/** The tools run in parallel, so the request waits for the slowest. */
export const toolMs = (answer: Answer): number =>
  Math.max(...['ffprobe', 'mediainfo'].map((name) => partOf(answer, name)?.duration ?? 0));

export function expectOk(answer: Answer): Answer {
  if (answer.status !== 200 || answer.json.success !== true)
    throw new Error(`a probe failed: ${answer.status} ${answer.text.slice(0, 300)}`);
  return answer;
}

export async function withCluster<T>(work: (c: Cluster) => Promise<T>): Promise<T> {
  const c = await cluster();
  try {
    return await work(c);
  } finally {
    await c.close();
  }
}

/** One after the other, without counting the first ones. */
export async function paced<T>(count: number, warmUp: number, call: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let index = -warmUp; index < count; index++) {
    const result = await call(index);
    if (index >= 0) results.push(result);
    await delay(PAUSE_MS);
  }
  return results;
}

export interface Beside {
  answer: Answer;
  /** When the request was sent, as `Date.now()` has it, and finer. */
  sentAt: number;
  /** What the bare tools took right after it. */
  bareMs: number;
}

/** Requests, each followed by the same tools, bare and at once, on the same address. */
export const besideBare = (
  c: Cluster,
  tools: Readonly<Record<string, BareTool>>,
  asked: { url: string; token: string; tools: readonly string[]; only: object },
  count: number,
  warmUp: number,
): Promise<Beside[]> =>
  paced(count, warmUp, async () => {
    const sentAt = performance.timeOrigin + performance.now();
    const answer = expectOk(await c.probe({ url: asked.url, ...asked.only }, { token: asked.token }));
    const begun = performance.now();
    await Promise.all(asked.tools.map((name) => tools[name]?.run(asked.url)));
    return { answer, sentAt, bareMs: performance.now() - begun };
  });
