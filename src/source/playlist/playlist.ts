import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { promisify } from 'node:util';
import { cut, type SourceError } from '../error.ts';
import type { Head } from '../http/head.ts';
import type { OriginFile } from '../file/origin_file.ts';
import type { Meter } from '../meter.ts';
import type { Place, Roots } from './mapping.ts';
import { declaredParameters } from './parameters.ts';
import type { Rewriter } from './rewriter.ts';

/**
 * Texts with references to other files: recognised by their first bytes like the tools do, or by their declared type.
 */
export type PlaylistKind = 'hls' | 'dash';

/** Longer ones are not rewritten, and therefore not passed on. */
const LONGEST_PLAYLIST = 8 << 20;

const DECODERS = { gzip: gunzip, 'x-gzip': gunzip, deflate: inflate, br: brotliDecompress };

/** `meter`: of the tool that waits for the first bytes; by default the one that first asked for the file. */
export async function playlistKind(file: OriginFile, head: Head, meter?: Meter): Promise<PlaylistKind | undefined> {
  if (head.size === 0) return undefined;
  const coding = head.headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity') return claimedKind(head);
  const start = textStart(await file.first(16, meter));
  if (start.startsWith('#EXTM3U')) return 'hls';
  if (!start.startsWith('<')) return undefined;
  return /<(?:\w+:)?MPD[\s>]/.test((await file.first(16384, meter)).toString('latin1')) ? 'dash' : undefined;
}

const textStart = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();

function claimedKind({ type, url }: Head): PlaylistKind | undefined {
  const path = url.split(/[?#]/)[0]!.toLowerCase();
  if (type.endsWith('mpegurl') || /\.m3u8?$/.test(path)) return 'hls';
  return type === 'application/dash+xml' || path.endsWith('.mpd') ? 'dash' : undefined;
}

interface Playlist {
  body: Buffer;
  /** it will not change */ final: boolean;
}

/** Decompressed. */
export async function readText(file: OriginFile, head: Head, meter?: Meter): Promise<Buffer> {
  if (head.size !== undefined && head.size > LONGEST_PLAYLIST) throw tooLong();
  let bytes = await file.first(LONGEST_PLAYLIST + 1, meter);
  if (bytes.length > LONGEST_PLAYLIST) throw tooLong();
  const decode = DECODERS[head.headers['content-encoding'] as keyof typeof DECODERS];
  if (decode !== undefined) {
    bytes = await promisify(decode as typeof gunzip)(bytes, { maxOutputLength: LONGEST_PLAYLIST }).catch(
      (cause: unknown) => {
        throw cut('protocol', 'the playlist cannot be decompressed', { cause });
      },
    );
  }
  return bytes;
}

/** The parameters of its own query that an HLS playlist declares; empty for anything else. */
export async function parametersOf(file: OriginFile, head: Head, meter: Meter): Promise<string[]> {
  if ((await playlistKind(file, head, meter)) !== 'hls') return [];
  return declaredParameters((await readText(file, head, meter)).toString('utf8', 0, 1 << 20));
}

export async function readPlaylist(
  file: OriginFile,
  head: Head,
  form: { kind: PlaylistKind; place: Place; roots: Roots },
  { rewriter, meter }: { rewriter: Rewriter; meter: Meter },
): Promise<Playlist> {
  const bytes = await readText(file, head, meter);
  const { body, final } = await rewriter.rewrite({ ...form, bytes });
  return { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength), final };
}

const tooLong = (): SourceError => cut('limit', 'the playlist is too long');
