import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ByteRange, rangeIn } from '../base/byte_range.ts';
import type { Job } from './job.ts';
import type { Failure } from './job_options.ts';
import type { Piece } from './file/page_reader.ts';
import { fromPath, rootsOf } from './playlist/mapping.ts';
import type { Head } from './http/head.ts';
import type { OriginFile } from './file/origin_file.ts';
import { PARAMETERS_HEADER, PLACE_HEADER } from './playlist/parameters.ts';
import { parametersOf, playlistKind, readPlaylist } from './playlist/playlist.ts';

/** A request of a tool. */
export interface Asked {
  job: Job;
  tool: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Responds to a tool's request for an address. In any case the tool gets a status or a broken connection, and the agent
 * survives.
 */
export async function serveTool(asked: Asked, path: string): Promise<void> {
  const { job, tool, request, response } = asked;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    refuse(response, 405, 'only GET and HEAD', { allow: 'GET, HEAD' });
    return;
  }
  const refused = /^refused\/([a-z0-9+.-]+)/.exec(path);
  if (refused !== null) {
    job.refuse(`${refused[1]}://`);
    refuse(response, 403, `addresses of the kind ${refused[1]}: are not allowed`);
    return;
  }
  const url = fromPath(path, job);
  if (url === undefined) {
    refuse(response, 404, 'no such address');
    return;
  }
  await serveUrl(asked, job.readsAsTheyAre(tool) ? job.parameters.meant(url) : url, path);
}

/**
 * With `path`, playlists are rewritten. Without it, the tool requested the address directly, and no credentials are
 * used.
 */
export async function serveUrl(asked: Asked, url: string, path?: string): Promise<void> {
  const { job, tool, request, response } = asked;
  try {
    if (job.readsAsTheyAre(tool) && request.headers['cache-control'] === 'no-cache') job.forgetUrl(url);
    const { file, head } = await job.file(url, tool, path === undefined);
    if (job.readsAsTheyAre(tool)) await tell(asked, url, file, head);
    const playlist =
      path === undefined || job.readsAsTheyAre(tool)
        ? undefined
        : await playlistOf(asked, path, { requested: url, file, head });
    const served = (): void => job.served(url, tool);
    if (playlist === undefined) return await send(asked, file, head, served);
    served();
    sendWhole(playlist, head, request, response);
  } catch (error) {
    const failure = job.failed(error, url, tool);
    if (response.headersSent) response.destroy();
    else refuse(response, statusOf(failure), failure.message);
  }
}

/**
 * Sets the headers with the base of the text's references. The query is left out, except for parameters that the source
 * itself declares.
 */
async function tell({ job, tool, request, response }: Asked, url: string, file: OriginFile, head: Head): Promise<void> {
  const place = job.parameters.shown(head.url.split('?')[0]!);
  response.setHeader(
    PLACE_HEADER,
    place.replace(/[^\x21-\x7e]/gu, (letter) => (letter.isWellFormed() ? encodeURIComponent(letter) : '')),
  );
  const wanted = String(request.headers[PARAMETERS_HEADER] ?? '')
    .split(',')
    .filter((name) => name !== '');
  if (wanted.length === 0 || url !== job.main) return;
  const names = (await parametersOf(file, head, job.meter(tool))).filter((name) => wanted.includes(name));
  response.setHeader(PARAMETERS_HEADER, new URLSearchParams(job.parameters.told(head.url, names)).toString());
}

/** How long a playlist that may change is shared by the tools. */
const FRESH_MS = 1000;
/** Of those of a job that will not change: a tool may ask for one again, or for parts of it. */
const MOST_KEPT = 256;
const MOST_KEPT_BYTES = 16 << 20;

async function playlistOf(
  { job, tool }: Asked,
  path: string,
  { requested, file, head }: { requested: string; file: OriginFile; head: Head },
): Promise<Buffer | undefined> {
  const meter = job.meter(tool);
  const kind = await playlistKind(file, head, meter);
  if (kind === undefined) return undefined;
  job.isPlaylist(requested);
  const key = `${tool} ${path}`;
  const known = job.playlists.get(key);
  if (known !== undefined) return known;
  const form = { kind, place: { requested, final: head.url }, roots: rootsOf(path, job.prefix(tool)) };
  const { body, final } = await readPlaylist(file, head, form, { rewriter: job.rewriter, meter });
  if (final) keep(job.playlists, key, body);
  else setTimeout(() => job.forget(file), FRESH_MS).unref();
  return body;
}

/** The latest stay as far as there is room. */
function keep(playlists: Map<string, Buffer>, key: string, body: Buffer): void {
  playlists.set(key, body);
  let bytes = 0;
  for (const { length } of playlists.values()) bytes += length;
  for (const [oldest, { length }] of playlists) {
    if (playlists.size <= MOST_KEPT && bytes <= MOST_KEPT_BYTES) return;
    playlists.delete(oldest);
    bytes -= length;
  }
}

async function send(
  { job, tool, request, response }: Asked,
  file: OriginFile,
  head: Head,
  served: () => void,
): Promise<void> {
  const headers: Record<string, string | number> = { ...head.headers };
  let range: ByteRange | undefined;
  if (head.ranged && head.size !== undefined) {
    headers['accept-ranges'] = 'bytes';
    const asked = rangeIn(request.headers.range, head.size);
    if (asked === 'none' && head.size > 0) {
      refuse(response, 416, 'not in the file', { 'content-range': `bytes */${head.size}` });
      return;
    }
    if (asked !== 'none') range = asked;
    if (range !== undefined) headers['content-range'] = `bytes ${range.from}-${range.to - 1}/${head.size}`;
  }
  const { from, to } = range ?? { from: 0, to: head.size ?? Infinity };
  if (to !== Infinity) headers['content-length'] = to - from;
  if (request.method === 'HEAD') {
    response.writeHead(range === undefined ? 200 : 206, headers).end();
    return;
  }
  const reader = await file.read(from, to, job.meter(tool));
  response.once('close', () => reader.close());
  try {
    // Reads the first piece before the status is sent, because it may fail.
    let piece = await reader.next();
    served();
    response.writeHead(range === undefined ? 200 : 206, headers);
    for (; piece !== undefined && !response.destroyed; piece = await reader.next()) {
      if (!response.write(piece.bytes, released(piece))) await drained(response);
    }
    response.end();
  } finally {
    reader.close();
  }
}

/** A connection may still refer to the bytes after the write, and after an error. */
const released =
  ({ release }: Piece) =>
  (error?: Error | null): void => {
    if (!error) release();
  };

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });

function sendWhole(body: Buffer, head: Head, request: IncomingMessage, response: ServerResponse): void {
  const headers: Record<string, string | number> = { ...head.headers, 'accept-ranges': 'bytes' };
  delete headers['content-encoding'];
  const range = rangeIn(request.headers.range, body.length);
  if (range === 'none' && body.length > 0) {
    refuse(response, 416, 'not in the file', { 'content-range': `bytes */${body.length}` });
    return;
  }
  const part = range === undefined || range === 'none' ? body : body.subarray(range.from, range.to);
  if (range !== undefined && range !== 'none')
    headers['content-range'] = `bytes ${range.from}-${range.to - 1}/${body.length}`;
  headers['content-length'] = part.length;
  response.writeHead(headers['content-range'] === undefined ? 200 : 206, headers);
  response.end(request.method === 'HEAD' ? undefined : part);
}

function statusOf({ code, status, reason }: Failure): number {
  if (code === 'refused' || code === 'too-large') return 403;
  if (status !== undefined && status >= 400 && status <= 599) return status;
  return reason === 'stalled' ? 504 : 502;
}

/** A short text response; the text is never taken from an origin. */
export function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
