/**
 * Reads a source and refuses at once what never can be fetched; what a name leads to is found out where the socket
 * opens.
 */
import { isIP } from 'node:net';
import { isSourceError } from '../../source/error.ts';
import { makeGuard, type Allow } from '../../source/address/guard.ts';
import { parseSource } from '../../source/address/parse.ts';
import type { Source } from '../../source/source.ts';
import { GatewayError } from '../errors.ts';

export interface SourceRules {
  allow: readonly Allow[];
  deny: readonly string[];
  s3Hosts?: readonly string[];
}

const PORTS: Record<string, number> = { http: 80, https: 443, ftp: 21, rtmp: 1935, rtmps: 443, rtsp: 554, rtsps: 322 };

function literalAddress(source: Source): { address: string; port: number } | undefined {
  if (source.scheme === 's3') return undefined;
  const authority = /^[a-z0-9]+:\/\/([^/?#]*)/.exec(source.url)?.[1] ?? '';
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0
    ? undefined
    : { address, port: port === undefined ? (PORTS[source.scheme] ?? 0) : Number(port) };
}

export function isRefusedLiteral(source: Source, rules: SourceRules): boolean {
  const literal = literalAddress(source);
  return (
    literal !== undefined &&
    makeGuard({ allow: rules.allow, denyExtra: rules.deny }).check(literal.address, literal.port, literal.address) ===
      'refused'
  );
}

export function readSource(text: string, rules: SourceRules): Source {
  let source: Source;
  try {
    source = parseSource(text, { s3Hosts: rules.s3Hosts ?? [] });
  } catch (error) {
    // These messages never repeat a part of the address.
    if (isSourceError(error))
      throw new GatewayError(
        400,
        'invalid-source',
        error.message.startsWith('url') ? error.message : `url: ${error.message}`,
      );
    throw error;
  }
  if (isRefusedLiteral(source, rules)) {
    throw new GatewayError(400, 'source-refused', 'url: the address is not allowed: it is private, local or reserved');
  }
  return source;
}
