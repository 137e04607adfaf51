/** One GET of an origin over connections of its own, redirects included. */
import { boundedBytes } from '../../base/bounded_text.ts';
import { type Target, targetOf } from '../address/target.ts';
import { SourceError } from '../error.ts';
import { refusedStatus, stoppedSending } from '../failures.ts';
import type { Source } from '../source.ts';
import type { OriginAnswer } from './answer.ts';
import type { ConnectOptions } from './connect.ts';
import { accessOf, exchange } from './exchange.ts';
import { Pool } from './pool.ts';

interface Once<T> {
  headers?: Record<string, string>;
  /** Bounds all of it. */
  signal: AbortSignal;
  onBytes?: (count: number) => void;
  /** What of the answer is wanted; the rest is not read. */
  read(response: OriginAnswer, target: Target): T;
}

export async function getOnce<T>(
  source: Source,
  connect: ConnectOptions,
  { headers = {}, signal, onBytes = () => {}, read }: Once<T>,
): Promise<Awaited<T>> {
  const { url } = source;
  const { timeoutMs } = connect;
  const pool = new Pool({ ...connect, maxPerHost: 1, idleMs: timeoutMs, headersTimeoutMs: timeoutMs, nearMs: 0 });
  try {
    const context = { pool, access: accessOf(source, url, {}), signal, count: { request() {}, bytes: onBytes } };
    const { response, target } = await exchange(context, targetOf(url), headers);
    const stop = (): void => void response.destroy(stoppedSending());
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await read(response, target);
    } finally {
      signal.removeEventListener('abort', stop);
      response.destroy();
    }
  } finally {
    pool.close();
  }
}

/** A whole file, if it has at most `most` bytes. */
export const getWhole = (source: Source, connect: ConnectOptions, most: number, signal: AbortSignal): Promise<Buffer> =>
  getOnce(source, connect, {
    signal,
    async read(response) {
      if (response.statusCode !== 200) throw refusedStatus(response.statusCode);
      const bytes = await boundedBytes(response as AsyncIterable<Buffer>, most);
      if (bytes === undefined) throw new SourceError('too-large', `is larger than ${most} bytes`);
      return bytes;
    },
  });
