import { unreadableAddress } from '../failures.ts';

/**
 * Destination of one HTTP request. The path is kept as text, because an S3 object's name may contain what a URL would
 * normalise.
 */
export interface Target {
  scheme: 'http' | 'https';
  /** IPv6 without brackets */ host: string;
  port: number;
  /** with its query */ path: string;
}

export interface S3Settings {
  /**
   * The operator's own S3 service, for s3:// addresses: `https://minio.example.com`, with the bucket as the first path
   * segment.
   */
  endpoint?: string;
  region?: string;
}

export function targetOf(url: string): Target {
  const match = /^(https?):\/\/(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?([^#]*)$/.exec(url);
  if (match === null) throw unreadableAddress();
  const scheme = match[1] as 'http' | 'https';
  const path = match[4]!;
  return {
    scheme,
    host: match[2]!.replace(/^\[|\]$/g, ''),
    port: match[3] === undefined ? (scheme === 'https' ? 443 : 80) : Number(match[3]),
    path: path.startsWith('/') ? path : `/${path}`,
  };
}

export const hostText = (host: string): string => (host.includes(':') ? `[${host}]` : host);

export function authority(target: Target): string {
  const usual = target.scheme === 'https' ? 443 : 80;
  return target.port === usual ? hostText(target.host) : `${hostText(target.host)}:${target.port}`;
}

export const urlOf = (target: Target): string => `${target.scheme}://${authority(target)}${target.path}`;

export const sameAuthority = (a: Target, b: Target): boolean =>
  a.scheme === b.scheme && a.host === b.host && a.port === b.port;

/** Resolves a reference by the URL standard; undefined if the result is not http(s). */
export function resolveReference(base: string, reference: string): string | undefined {
  let url: URL;
  try {
    url = new URL(reference, base);
  } catch {
    return undefined;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}

export const isWeb = (url: string): boolean => /^https?:/.test(url);
