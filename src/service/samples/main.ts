/** The role `samples`: an origin inside the cluster with generated media, for first requests, examples and tests. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { extname, join, relative } from 'node:path';
import { rangeIn } from '../../base/byte_range.ts';
import { loadConfig } from '../../base/config.ts';
import { serveHealth } from '../../base/health.ts';
import { makeLog } from '../../base/log.ts';
import { signals } from '../../base/signals.ts';

// What is answered to a request for a sample: pure.

export interface SampleFile {
  type: string;
  etag: string;
  body: Buffer;
}

interface SampleRequest {
  method: string | undefined;
  /** As in the request line. */
  target: string | undefined;
  headers: IncomingHttpHeaders;
}

interface Response {
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

const NOTHING = Buffer.alloc(0);
const refusal = (status: number, text: string, headers: OutgoingHttpHeaders = {}): Response => {
  const body = Buffer.from(`${text}\n`);
  const type = 'text/plain; charset=utf-8';
  return { status, headers: { ...headers, 'content-type': type, 'content-length': body.length }, body };
};

/** Of the path alone. Undefined: it is not valid. */
function nameIn(target: string): string | undefined {
  const [path = ''] = target.split('?');
  try {
    return decodeURIComponent(path).replace(/^\//, '');
  } catch {
    return undefined;
  }
}

const names = (list: string, etag: string): boolean =>
  list.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);

export function respond(
  { method, target = '', headers }: SampleRequest,
  files: ReadonlyMap<string, SampleFile>,
): Response {
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'only GET and HEAD', { allow: 'GET, HEAD' });
  const name = nameIn(target);
  if (name === undefined) return refusal(400, 'the path is not valid');
  const file = files.get(name);
  if (file === undefined) return refusal(404, 'not found');
  const { type, etag, body } = file;
  const common = {
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-type': type,
    'x-content-type-options': 'nosniff',
    etag,
  };
  const seen = headers['if-none-match'];
  if (seen !== undefined && names(seen, etag)) return { status: 304, headers: common, body: NOTHING };
  // A range of a file that has changed since is the whole of the new one.
  const condition = headers['if-range'];
  const range = condition === undefined || condition === etag ? rangeIn(headers.range, body.length) : undefined;
  if (range === 'none')
    return refusal(416, 'the range is not in the file', { 'content-range': `bytes */${body.length}` });
  const { from, to } = range ?? { from: 0, to: body.length };
  const part = range && { 'content-range': `bytes ${from}-${to - 1}/${body.length}` };
  return {
    status: range ? 206 : 200,
    headers: { ...common, ...part, 'content-length': to - from },
    body: method === 'HEAD' ? NOTHING : body.subarray(from, to),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.ac3': 'audio/ac3',
  '.avi': 'video/x-msvideo',
  '.flac': 'audio/flac',
  '.flv': 'video/x-flv',
  '.jpg': 'image/jpeg',
  '.m3u8': 'application/vnd.apple.mpegurl',
  '.m4a': 'audio/mp4',
  '.m4s': 'video/iso.segment',
  '.mkv': 'video/x-matroska',
  '.mov': 'video/quicktime',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.mpd': 'application/dash+xml',
  '.mpg': 'video/mpeg',
  '.mxf': 'application/mxf',
  '.ogg': 'audio/ogg',
  '.ts': 'video/mp2t',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
};

/** The files of a folder, in memory: together they are smaller than 10 MB. */
async function readSamples(folder: string): Promise<ReadonlyMap<string, SampleFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    paths.map(async (path): Promise<[string, SampleFile]> => {
      const body = await readFile(path);
      const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
      const type = TYPES[extname(path)] ?? 'application/octet-stream';
      return [relative(folder, path), { type, etag: `"${hash}"`, body }];
    }),
  );
  return new Map(files);
}

export async function run(): Promise<void> {
  const config = loadConfig('samples');
  const log = makeLog('samples', config);
  const stopping = signals();
  const files = await readSamples(config.samplesFolder);
  if (files.size === 0) throw new Error(`there are no samples in ${config.samplesFolder}`);
  const server = createServer((request, response) => {
    const { status, headers, body } = respond(
      { method: request.method, target: request.url, headers: request.headers },
      files,
    );
    response.writeHead(status, headers).end(body);
  });
  server.listen(config.listen.port, config.listen.host);
  await once(server, 'listening');
  const health = await serveHealth(config.metricsListen, {});
  log.info({ files: files.size }, 'serving samples');

  const signal = await stopping.serving();
  log.info({ signal }, 'stopping');
  for (const one of [server, health]) {
    one.close();
    one.closeAllConnections();
  }
}
