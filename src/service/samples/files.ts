/** The files of a folder, in memory: together they are smaller than 10 MB. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { SampleFile } from './respond.ts';

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

export async function readSamples(folder: string): Promise<ReadonlyMap<string, SampleFile>> {
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
