/** Asks a host which file lies under an address: one request for its first byte, of which no body is kept. */
import { targetOf, urlOf } from '../address/target.ts';
import type { Source } from '../source.ts';
import type { ConnectOptions } from './connect.ts';
import { accessOf, exchange } from './exchange.ts';
import { readHead } from './head.ts';
import { Pool } from './pool.ts';

export interface Asked {
  /** Undefined: the host gives the file no strong validator. */
  identity: string | undefined;
  bytes: number;
}

/** `signal` bounds all of it, redirects included. */
export async function askIdentity(source: Source, connect: ConnectOptions, signal: AbortSignal): Promise<Asked> {
  const { url } = source;
  const { timeoutMs } = connect;
  const pool = new Pool({ ...connect, maxPerHost: 1, idleMs: timeoutMs, headersTimeoutMs: timeoutMs, nearMs: 0 });
  let bytes = 0;
  const count = { request() {}, bytes: (more: number) => void (bytes += more) };
  try {
    const context = { pool, access: accessOf(source, url, {}), signal, count };
    const { response, target } = await exchange(context, targetOf(url), { range: 'bytes=0-0' });
    try {
      return { identity: readHead(response, urlOf(target)).identity, bytes };
    } finally {
      response.destroy();
    }
  } finally {
    pool.close();
  }
}
