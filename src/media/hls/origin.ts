/**
 * Fetches playlists, keys and segments: through the source proxy, whose paths represent the real addresses, or
 * directly.
 */
import { toPath } from '../../source/playlist/mapping.ts';
import { PARAMETERS_HEADER, PLACE_HEADER } from '../../source/playlist/parameters.ts';

export interface Wanted {
  /** Maximum number of bytes to read. */
  maxBytes: number;
  range?: { from: number; length: number } | undefined;
  /** Bypasses the proxy's cache. */
  anew?: boolean;
  signal?: AbortSignal | undefined;
}

export interface Fetched {
  /** 0: no response. */
  status: number;
  bytes: Buffer;
  /** False if the body was truncated. */
  whole: boolean;
  type: string;
  /** Base of its references; without a query. */
  place: string;
  /** Why nothing was fetched. */
  error: string | undefined;
}

export interface Origin {
  /** `url` undefined: the source itself. */
  fetch(url: string | undefined, wanted: Wanted): Promise<Fetched>;
  /** Query parameters of an address. Those of the source itself are only known to the proxy. */
  parameters(url: string | undefined, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export function openOrigin(address: string): Origin {
  const proxied = /^(http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/[A-Za-z0-9_-]+\/)[^/]*$/.exec(address)?.[1];
  const addressOf = (url: string | undefined): string => {
    if (url === undefined) return address;
    return proxied === undefined || url.startsWith('data:') ? url : `${proxied}${toPath(url)}`;
  };
  return {
    fetch: (url, wanted) => fetchOne(addressOf(url), wanted),
    async parameters(url, names) {
      if (url !== undefined || proxied === undefined) {
        const query = new URL(url ?? address).searchParams;
        return new Map(
          names.flatMap((name): [string, string][] => (query.has(name) ? [[name, query.get(name) ?? '']] : [])),
        );
      }
      const answer = await fetch(address, { headers: { [PARAMETERS_HEADER]: names.join(','), range: 'bytes=0-0' } });
      await answer.body?.cancel();
      return new Map(new URLSearchParams(answer.headers.get(PARAMETERS_HEADER) ?? ''));
    },
  };
}

async function fetchOne(address: string, { maxBytes, range, anew, signal }: Wanted): Promise<Fetched> {
  const headers: Record<string, string> = { 'accept-encoding': 'gzip' };
  if (range !== undefined) {
    headers['range'] = `bytes=${range.from}-${range.from + range.length - 1}`;
    headers['accept-encoding'] = 'identity';
  }
  if (anew === true) headers['cache-control'] = 'no-cache';
  try {
    const response = await fetch(address, { headers, ...(signal === undefined ? {} : { signal }) });
    const place = (response.headers.get(PLACE_HEADER) ?? response.url).split(/[?#]/)[0] ?? '';
    const head = { status: response.status, type: response.headers.get('content-type') ?? '', place };
    const failed = response.status >= 400;
    const { bytes, whole } = await readBody(response, failed ? 400 : maxBytes);
    if (failed) return { ...head, bytes: Buffer.alloc(0), whole: false, error: reasonOf(response, bytes) };
    // If the host ignores the range and sends the whole file, the part is cut from it.
    const part =
      range !== undefined && response.status === 200 ? bytes.subarray(range.from, range.from + range.length) : bytes;
    return { ...head, bytes: part, whole, error: undefined };
  } catch (error) {
    const why = signal?.aborted ? 'no answer in time' : failureOf(address, error as Error);
    return { status: 0, bytes: Buffer.alloc(0), whole: false, type: '', place: address, error: why };
  }
}

function failureOf(address: string, { cause }: { cause?: unknown }): string {
  if (address.startsWith('data:')) return 'not a valid data: address';
  return cause instanceof Error ? `the connection failed: ${cause.message}` : 'the connection failed';
}

const reasonOf = (response: Response, bytes: Buffer): string =>
  response.headers.has(PLACE_HEADER) || !(response.headers.get('content-type') ?? '').startsWith('text/plain')
    ? `status ${response.status}`
    : bytes.toString('utf8').split('\n')[0]?.trim() || `status ${response.status}`;

async function readBody(response: Response, most: number): Promise<{ bytes: Buffer; whole: boolean }> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    parts.push(part as Uint8Array);
    length += (part as Uint8Array).length;
    // Leaving the loop aborts the transfer.
    if (length > most) break;
  }
  const bytes = Buffer.concat(parts);
  return length > most ? { bytes: bytes.subarray(0, most), whole: false } : { bytes, whole: true };
}
