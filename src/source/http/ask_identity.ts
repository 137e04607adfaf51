/** Asks a host which file lies under an address: one request for its first byte, of which no body is kept. */
import { urlOf } from '../address/target.ts';
import type { Source } from '../source.ts';
import type { ConnectOptions } from './connect.ts';
import { readHead } from './head.ts';
import { getOnce } from './once.ts';

export interface Asked {
  /** Undefined: the host gives the file no strong validator. */
  identity: string | undefined;
  bytes: number;
}

/** `signal` bounds all of it, redirects included. */
export async function askIdentity(source: Source, connect: ConnectOptions, signal: AbortSignal): Promise<Asked> {
  let bytes = 0;
  const identity = await getOnce(source, connect, {
    headers: { range: 'bytes=0-0' },
    signal,
    onBytes: (more) => void (bytes += more),
    read: (response, target) => readHead(response, urlOf(target)).identity,
  });
  return { identity, bytes };
}
