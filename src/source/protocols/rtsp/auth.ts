/** Answers a server's authentication challenge: Digest if it is offered, otherwise Basic. */
import { createHash, randomBytes } from 'node:crypto';
import type { Credentials } from '../../source.ts';
import { headerOf, type RtspMessage } from './message.ts';

export type Challenge =
  | { scheme: 'basic' }
  | {
      scheme: 'digest';
      realm: string;
      nonce: string;
      opaque: string | undefined;
      qop: boolean;
      algorithm: 'md5' | 'sha256';
      uses: number;
    };

export function challengeOf(headers: RtspMessage['headers']): Challenge | undefined {
  const offers = headers.filter(([name]) => name.toLowerCase() === 'www-authenticate').map(([, value]) => value);
  const digests = offers
    .filter((offer) => /^digest\s/i.test(offer))
    .map(digestOf)
    .filter((offer) => offer !== undefined);
  return digests[0] ?? (offers.some((offer) => /^basic\b/i.test(offer)) ? { scheme: 'basic' } : undefined);
}

/** The longest known realm, nonce and opaque have a few hundred characters. */
const LONGEST_OFFER = 4096;

function digestOf(offer: string): Challenge | undefined {
  if (offer.length > LONGEST_OFFER) return undefined;
  // Nothing is required after a name, so no name is retried from its second letter.
  const fields = new Map(
    [...offer.matchAll(/(\w+)\s*(?:=\s*(?:"([^"]*)"|([^\s,]+))?)?/g)].map(([, name, quoted, bare]) => [
      name!.toLowerCase(),
      quoted ?? bare ?? '',
    ]),
  );
  const algorithm = { md5: 'md5', 'sha-256': 'sha256' }[(fields.get('algorithm') ?? 'MD5').toLowerCase()] as
    'md5' | 'sha256' | undefined;
  const nonce = fields.get('nonce');
  if (algorithm === undefined || nonce === undefined) return undefined;
  return {
    scheme: 'digest',
    realm: fields.get('realm') ?? '',
    nonce,
    opaque: fields.get('opaque'),
    qop: (fields.get('qop') ?? '').split(/[\s,]+/).includes('auth'),
    algorithm,
    uses: 0,
  };
}

export const isStale = (headers: RtspMessage['headers']): boolean =>
  /stale\s*=\s*"?true/i.test(headerOf(headers, 'www-authenticate') ?? '');

export function authorizationFor(
  challenge: Challenge,
  { user, password }: Credentials,
  method: string,
  uri: string,
): string {
  if (challenge.scheme === 'basic') return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
  const hash = (text: string): string => createHash(challenge.algorithm).update(text, 'utf8').digest('hex');
  const inner = hash(`${method}:${uri}`);
  const outer = hash(`${user}:${challenge.realm}:${password}`);
  const count = (++challenge.uses).toString(16).padStart(8, '0');
  const own = randomBytes(8).toString('hex');
  const response = challenge.qop
    ? hash(`${outer}:${challenge.nonce}:${count}:${own}:auth:${inner}`)
    : hash(`${outer}:${challenge.nonce}:${inner}`);
  const quoted = (text: string): string =>
    `"${Buffer.from(text, 'utf8').toString('latin1').replace(/["\\]/g, '\\$&')}"`;
  return [
    `Digest username=${quoted(user)}`,
    `realm=${quoted(challenge.realm)}`,
    `nonce="${challenge.nonce}"`,
    `uri="${uri}"`,
    `response="${response}"`,
    ...(challenge.algorithm === 'sha256' ? ['algorithm=SHA-256'] : []),
    ...(challenge.opaque === undefined ? [] : [`opaque="${challenge.opaque}"`]),
    ...(challenge.qop ? [`qop=auth, nc=${count}, cnonce="${own}"`] : []),
  ].join(', ');
}
