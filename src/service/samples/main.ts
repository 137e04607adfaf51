/** The role `samples`: an origin inside the cluster with generated media, for first requests, examples and tests. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, relative } from 'node:path';
import { loadConfig } from '../../base/config.ts';
import { serveHealth } from '../../base/health.ts';
import { makeLog } from '../../base/log.ts';
import { signals } from '../../base/signals.ts';
import { respond, type SampleFile } from './respond.ts';

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
