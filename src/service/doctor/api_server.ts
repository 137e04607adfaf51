/** Calls of the API server without credentials: what it answers is not looked at, but when, and at which time. */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import type { Settings } from './settings.ts';

export interface Answer {
  status: number;
  /** The server's clock, in whole seconds, as milliseconds; NaN: it does not say. */
  date: number;
  /** This machine's clock. */
  sentAt: number;
  receivedAt: number;
  /** By the monotonic clock. */
  durationMs: number;
}

const CALL_MS = 10_000;

export interface ApiServer {
  ask(): Promise<Answer>;
  close(): void;
}

/** Over one connection: the first answer includes its set-up. */
export async function openApiServer({ apiServer, caFile }: Settings): Promise<ApiServer> {
  if (apiServer === '') throw new Error('the address of the API server is not known outside of a pod');
  const ca = await readFile(caFile).catch(() => {
    throw new Error(`the certificate authority of the API server cannot be read (${caFile})`);
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const ask = (): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sentAt = Date.now();
      const began = performance.now();
      const call = request(`${apiServer}/version`, { agent, timeout: CALL_MS }, (response) => {
        const answer: Answer = {
          status: response.statusCode ?? 0,
          date: Date.parse(response.headers.date ?? ''),
          sentAt,
          receivedAt: Date.now(),
          durationMs: performance.now() - began,
        };
        response.resume();
        response.once('end', () => resolve(answer));
        response.once('error', reject);
      });
      call.once('timeout', () => call.destroy(new Error(`no answer from the API server within ${CALL_MS / 1000} s`)));
      call.once('error', reject);
      call.end();
    });
  return { ask, close: () => agent.destroy() };
}

export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

/** `0.4 ms`, `12 ms`, `1.3 s`. */
export function shownMs(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
