/** What the first answer of an origin says of a file. */
import type { OriginAnswer } from './answer.ts';
import { cut } from '../error.ts';
import { refusedStatus } from '../failures.ts';
import { drop } from './exchange.ts';
import { identityOf } from './identity.ts';

/** The origin's metadata of the file. */
export interface Head {
  url: string;
  /** undefined: not sent by the origin */
  size: number | undefined;
  ranged: boolean;
  headers: Record<string, string>;
  type: string;
  /** Only of a file that is read in ranges: their validators are compared. */
  identity?: string | undefined;
}

/** Response headers that tools may display. */
const KEPT = ['content-type', 'last-modified', 'content-encoding', 'content-disposition', 'content-language'];

export function readHead(response: OriginAnswer, url: string): Head {
  const status = response.statusCode;
  const { headers } = response;
  const given = contentRange(response);
  const common = {
    url,
    headers: keptHeaders(response),
    type: (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase(),
  };
  if (status === 416 && (given?.size ?? 0) === 0) return { ...common, headers: {}, size: 0, ranged: true };
  if (status === 206 && given?.from === 0 && given.size !== undefined)
    return { ...common, size: given.size, ranged: true, identity: identityOf(headers, given.size) };
  if (status === 200) {
    const length = headers['content-length'];
    return { ...common, size: length === undefined ? undefined : Number(length), ranged: false };
  }
  drop(response);
  if (status >= 400) throw refusedStatus(status);
  throw cut('protocol', 'the host returned another range than requested', {
    detail: `status ${status}, content-range ${headers['content-range'] ?? 'none'}`,
  });
}

function keptHeaders(response: OriginAnswer): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === 'string' && (KEPT.includes(name) || (name.startsWith('icy-') && name !== 'icy-metaint')))
      result[name] = value;
  }
  return result;
}

export function contentRange(response: OriginAnswer): { from?: number; size?: number } | undefined {
  const match = /^bytes\s+(?:(\d{1,15})-(\d{1,15})|\*)\/(?:(\d{1,15})|\*)$/.exec(
    response.headers['content-range'] ?? '',
  );
  if (match === null) return undefined;
  return {
    ...(match[1] === undefined ? {} : { from: Number(match[1]) }),
    ...(match[3] === undefined ? {} : { size: Number(match[3]) }),
  };
}
