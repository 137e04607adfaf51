/** Files of an origin in the same rack, and how it serves them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';

export interface NearFile {
  name: string;
  path: string;
  /** Served with zeros after its own bytes, up to this size. */
  size?: number;
}

const SECONDS = 30;

/** A file of 26 KB, and half a minute of 9.4 MB in four containers. An mp4 of 1 GB has the index of one of them. */
export function nearFiles(folder: string): NearFile[] {
  mkdirSync(folder, { recursive: true });
  const ffmpeg = (...args: string[]): void =>
    void execFileSync('ffmpeg', ['-v', 'error', '-y', ...args], { cwd: folder });
  const [video, tone] = [`testsrc2=size=640x360:rate=25:duration=${SECONDS}`, `sine=duration=${SECONDS}`];
  const codecs = ['-c:v', 'mpeg4', '-b:v', '2400k', '-g', '50', '-c:a', 'aac', '-b:a', '96k'];
  ffmpeg('-f', 'lavfi', '-i', video, '-f', 'lavfi', '-i', tone, ...codecs, 'last.mp4');
  ffmpeg('-i', 'last.mp4', '-c', 'copy', '-movflags', '+faststart', 'first.mp4');
  for (const name of ['a.mkv', 'a.ts']) ffmpeg('-i', 'last.mp4', '-c', 'copy', name);
  const own = ['first.mp4', 'last.mp4', 'a.mkv', 'a.ts'].map((name) => ({ name, path: join(folder, name) }));
  const tiny = { name: 'tiny.mp4', path: join(import.meta.dirname, '../../test/fixtures/tiny.mp4') };
  return [tiny, ...own, { name: '1gb.mp4', path: longer(join(folder, 'first.mp4')), size: 1 << 30 }];
}

/** Its last box, the media, is declared to be as long as needed. */
function longer(path: string): string {
  const bytes = readFileSync(path);
  let at = 0;
  while (bytes.toString('latin1', at + 4, at + 8) !== 'mdat') at += bytes.readUInt32BE(at);
  bytes.writeUInt32BE((1 << 30) - at, at);
  const into = path.replace('first', 'longer');
  writeFileSync(into, bytes);
  return into;
}

/** With ranges. What a file lacks of its size is zeros. */
export function serveFiles(files: readonly NearFile[]): RequestListener {
  const heads = new Map(files.map(({ name, path, size }) => [name, { head: readFileSync(path), size }]));
  return (request, response) => {
    const file = heads.get((request.url ?? '').slice(1));
    if (file) answer(file.head, file.size ?? file.head.length, request.headers.range, response);
    else response.writeHead(404).end();
  };
}

function answer(head: Buffer, size: number, range: string | undefined, response: ServerResponse): void {
  const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
  const from = Number(first);
  const to = Math.min(size, last === '' ? size : Number(last) + 1);
  response.writeHead(range === undefined ? 200 : 206, {
    'accept-ranges': 'bytes',
    'content-length': to - from,
    etag: '"1"',
    ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
  });
  let at = from;
  const more = (): void => {
    while (at < to && !response.destroyed) {
      const piece =
        at < head.length ? head.subarray(at, Math.min(to, head.length)) : Buffer.alloc(Math.min(1 << 16, to - at));
      at += piece.length;
      if (!response.write(piece)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}
