/** All supported kinds of sources, one row each. Everything that depends on a scheme is read from here. */
import { hostText, type S3Settings } from '../address/target.ts';
import type { Source, SourceGroup } from '../source.ts';
import { az } from './az.ts';
import { ftp } from './ftp/ftp.ts';
import { gs } from './gs.ts';
import { http } from './http.ts';
import type { Place, Protocol } from './protocol.ts';
import { rtmp } from './rtmp/rtmp.ts';
import { rtsp } from './rtsp/rtsp.ts';
import { s3 } from './s3.ts';
import { srt } from './srt/srt.ts';
import { SCHEME as UPLOAD, upload } from './upload/upload.ts';
import { unreadableScheme } from '../failures.ts';

const PROTOCOLS: readonly Protocol[] = [http, s3, gs, az, ftp, rtmp, rtsp, srt];

const BY_SCHEME: ReadonlyMap<string, Protocol> = new Map(
  [...PROTOCOLS, upload].flatMap((protocol) => Object.keys(protocol.schemes).map((scheme) => [scheme, protocol])),
);

/** Schemes that an address may begin with. */
export const SCHEMES: readonly string[] = [...BY_SCHEME.keys()].filter((scheme) => scheme !== UPLOAD);

/** Schemes that are read over HTTP. */
export const WEB_SCHEMES: readonly string[] = SCHEMES.filter((scheme) => BY_SCHEME.get(scheme)?.webUrl !== undefined);

/** Of an address. */
export const knownProtocol = (scheme: string): Protocol | undefined =>
  scheme === UPLOAD ? undefined : BY_SCHEME.get(scheme);

export function protocolOf({ scheme }: Pick<Source, 'scheme'>): Protocol {
  const protocol = BY_SCHEME.get(scheme);
  if (protocol === undefined) throw unreadableScheme(scheme);
  return protocol;
}

/** The address that a source is read from: a web address if it is read over HTTP, otherwise its own. */
export const originUrl = (source: Source, settings: S3Settings = {}): string =>
  BY_SCHEME.get(source.scheme)?.webUrl?.(source, settings) ?? source.url;

export function placeOf(url: string): Place {
  const match = /^([a-z0-9]+):\/\/(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?(.*)$/s.exec(url);
  if (match === null) throw new TypeError('not an address');
  const [, scheme = '', name = '', named, path = ''] = match;
  const usual = BY_SCHEME.get(scheme)?.schemes[scheme]?.port;
  const host = name.replace(/^\[|\]$/g, '');
  const port = named === undefined ? (usual ?? 0) : Number(named);
  return { host, port, authority: port === usual ? hostText(host) : `${hostText(host)}:${port}`, path };
}

/** Group for statistics: playlists and manifests first, then S3 objects under any address, then by scheme. */
export function groupOf(source: Source): SourceGroup {
  if (source.class === 'hls' || source.class === 'dash') return source.class;
  if (source.s3 !== undefined) return 's3';
  return protocolOf(source).schemes[source.scheme]!.countsAs;
}
