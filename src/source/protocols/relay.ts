import type { Socket } from 'node:net';
import type { Exchange } from '../http/exchange.ts';
import type { Guard } from '../address/guard.ts';
import type { Source } from '../source.ts';
import { hostText } from '../address/target.ts';

/** What is needed to speak to an origin in another language than HTTP. */
export type RelayContext = {
  source: Source;
  guard: Guard;
  /** Opens a socket to a checked address: one of the host's, or the one that it led to before. */
  dial(host: string, port: number, options: { secure: boolean; address?: string | undefined }): Promise<Socket>;
  /** Whether the way to this host leads through the installation's egress proxy. */
  throughEgress(host: string): boolean;
  signal: AbortSignal;
  count: Exchange['count'];
  /** How long the origin may be silent. */
  idleMs: number;
  /** How long a stream may take to send its first bytes: after that it is offline. */
  offlineMs: number;
};

export type Place = { host: string; port: number; /** with its query, still encoded */ path: string };

const usual: Readonly<Record<string, number>> = { ftp: 21, rtmp: 1935, rtmps: 443, rtsp: 554, rtsps: 322 };

/** Host, port and path of a source that is no web address. */
export function placeOf(url: string): Place {
  const match = /^([a-z0-9]+):\/\/(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?(.*)$/s.exec(url);
  if (match === null) throw new TypeError('not an address');
  return {
    host: match[2]!.replace(/^\[|\]$/g, ''),
    port: match[3] === undefined ? (usual[match[1]!] ?? 0) : Number(match[3]),
    path: match[4]!,
  };
}

export const authorityOf = ({ host, port }: Place, scheme: string): string =>
  port === usual[scheme] ? hostText(host) : `${hostText(host)}:${port}`;
