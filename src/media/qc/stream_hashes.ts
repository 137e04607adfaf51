/** Hashes of decoded streams, and the MD5 that FLAC keeps of its own. */
import type { QcStream } from './graph.ts';

const ENCODERS: Readonly<Record<string, string>> = {
  u8: 'pcm_u8',
  s16: 'pcm_s16le',
  s32: 'pcm_s32le',
  s64: 'pcm_s64le',
  flt: 'pcm_f32le',
  dbl: 'pcm_f64le',
};

/** The encoder that keeps the samples of a stream of ffprobe. Decoders hold 8 bits in 16, and 24 in 32. */
export function pcmOf({ sample_fmt: format, bits_per_raw_sample: bits }: Readonly<Record<string, unknown>>) {
  const kind = String(format).replace(/p$/, '');
  if (kind === 's16' && bits === '8') return 'pcm_s8';
  if (kind === 's32' && bits === '24') return 'pcm_s24le';
  return Object.hasOwn(ENCODERS, kind) ? ENCODERS[kind] : undefined;
}

/**
 * Further outputs of the same decode, one for each stream: one for all would hold pictures for 10 s while it waits for
 * a track that has ended. Their lines come last, in this order, behind those of the printers in the same pipe.
 */
export function hashArgs(streams: readonly QcStream[]): string[] {
  const keptBy = ({ type, pcm }: QcStream): string[] => {
    if (type === 'video') return ['-c:v', 'rawvideo', '-fps_mode', 'passthrough'];
    return pcm === undefined ? [] : ['-c:a', pcm];
  };
  const hashed = ['-f', 'streamhash', '-hash', 'md5', 'pipe:1'];
  return streams.flatMap((stream) => ['-map', `0:${stream.index}`, ...keptBy(stream), ...hashed]);
}

/** Options of ffprobe that print the heads of sound: attachments of a file may be long. */
export const HEADS: Readonly<Record<string, string>> = {
  show_data: 'true',
  show_entries: 'stream=index,extradata',
  select_streams: 'a',
};

const HEX = /^[0-9a-f]{8}: ((?:[0-9a-f]{2,4} )+)/gm;
/** STREAMINFO of FLAC: its last 16 bytes are the MD5 of the samples. */
const STREAMINFO_BYTES = 34;

/** Undefined: the encoder left none. */
export function flacMd5Of(extradata: unknown): string | undefined {
  const digits = [...String(extradata).matchAll(HEX)].map(([, part]) => part!.replaceAll(' ', '')).join('');
  const md5 = digits.slice(2 * (STREAMINFO_BYTES - 16), 2 * STREAMINFO_BYTES);
  return md5.length === 32 && /[^0]/.test(md5) ? md5 : undefined;
}
