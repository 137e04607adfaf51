/**
 * Measures one segment with the tool chosen by built_in.ts. The tool reads the segment from standard input, and opens
 * nothing.
 */
import { spawn } from 'node:child_process';
import type { Format } from './segment.ts';

export interface Stream {
  type: 'video' | 'audio' | 'other';
  codec: string;
  profile: string;
  level: number;
  width: number;
  height: number;
  frameRate: number;
  channels: number;
  interlaced: boolean;
}

export interface Facts {
  streams: Stream[];
  /** Of the video if there is one, otherwise of the audio. */
  start: number;
  end: number;
  packets: number;
  /** Of the video. */
  startsWithKey: boolean;
  keys: number;
}

const ENTRIES = [
  'stream=index,codec_type,codec_name,profile,level,width,height,avg_frame_rate,r_frame_rate,channels,field_order',
  'stream_disposition=attached_pic',
  'packet=stream_index,pts_time,dts_time,duration_time,flags',
].join(':');
const QUIETLY = ['-hide_banner', '-v', 'error', '-protocol_whitelist', 'pipe'];
const OUTPUT_BYTES = 64 << 20;
const PROBE_MS = 60_000;

interface Printed {
  streams?: {
    index: number;
    codec_type?: string;
    codec_name?: string;
    profile?: string;
    level?: number;
    width?: number;
    height?: number;
    avg_frame_rate?: string;
    r_frame_rate?: string;
    channels?: number;
    field_order?: string;
    disposition?: { attached_pic?: number };
  }[];
  packets?: { stream_index: number; pts_time?: string; dts_time?: string; duration_time?: string; flags?: string }[];
}

/** Returns the tool's message if the segment could not be measured. */
export async function probe(
  probeCommand: readonly string[],
  media: Buffer,
  format: Format,
  signal: AbortSignal,
): Promise<Facts | string> {
  const demuxer = format === 'ts' ? ['-f', 'mpegts'] : format === 'fmp4' ? ['-f', 'mov'] : [];
  const [program = '', ...given] = probeCommand;
  const output = ['-of', 'json', '-show_entries', ENTRIES];
  const child = spawn(program, [...given, ...QUIETLY, ...demuxer, ...output, '-i', 'pipe:0'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    killSignal: 'SIGKILL',
    env: { HOME: '/tmp', LC_ALL: 'C.UTF-8' },
  });
  const out: Buffer[] = [];
  let size = 0;
  let errors = '';
  child.stdout.on('data', (bytes: Buffer) => {
    size += bytes.length;
    if (size <= OUTPUT_BYTES) out.push(bytes);
    else child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    if (errors.length < 4096) errors += said;
  });
  // The tool may stop reading before the end.
  child.stdin.on('error', () => {});
  child.stdin.end(media);
  const ended = await new Promise<string | undefined>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' || error.code === 'EACCES' ? 'unstartable' : 'it took too long'),
    );
    child.on('close', (code, killed) =>
      resolve(
        killed === null && code === 0
          ? undefined
          : errors
              .trim()
              .split('\n')
              .at(-1)
              ?.replace(/^\[[^\]]*\] ?/, '') ||
              (killed === null ? 'it is not media' : `the probe was ended by ${killed}`),
      ),
    );
  });
  if (ended !== undefined) return ended;
  try {
    return factsOf(JSON.parse(Buffer.concat(out).toString()) as Printed);
  } catch {
    return 'the output of the probe cannot be read';
  }
}

const ratio = (text: string | undefined): number => {
  const [top = 0, bottom = 1] = (text ?? '').split('/').map(Number);
  return bottom > 0 && top > 0 ? top / bottom : 0;
};

function factsOf({ streams = [], packets = [] }: Printed): Facts {
  const real = streams.filter(({ disposition }) => disposition?.attached_pic !== 1);
  const main =
    real.find(({ codec_type }) => codec_type === 'video') ??
    real.find(({ codec_type }) => codec_type === 'audio') ??
    real[0];
  const own = packets.filter(({ stream_index }) => stream_index === main?.index);
  const times = own.map(({ pts_time, dts_time }) => Number(pts_time ?? dts_time)).filter(Number.isFinite);
  const start = times.reduce((least, time) => Math.min(least, time), Infinity);
  // For a frame without a duration, the distance between frames is used.
  const step = own.length > 1 ? (Math.max(...times.slice(0, 2_000)) - start) / (Math.min(own.length, 2_000) - 1) : 0;
  let end = -Infinity;
  for (const { pts_time, dts_time, duration_time } of own) {
    const at = Number(pts_time ?? dts_time);
    const length = duration_time === undefined ? step : Number(duration_time);
    if (at + length > end) end = at + length;
  }
  const isKey = (flags: string | undefined): boolean => flags?.includes('K') === true;
  return {
    streams: real.map((stream) => ({
      type: stream.codec_type === 'video' || stream.codec_type === 'audio' ? stream.codec_type : 'other',
      codec: stream.codec_name ?? '',
      profile: stream.profile ?? '',
      level: stream.level ?? 0,
      width: stream.width ?? 0,
      height: stream.height ?? 0,
      frameRate: ratio(stream.avg_frame_rate) || ratio(stream.r_frame_rate),
      channels: stream.channels ?? 0,
      interlaced: ['tt', 'bb', 'tb', 'bt'].includes(stream.field_order ?? ''),
    })),
    start,
    end,
    packets: own.length,
    startsWithKey: isKey(own[0]?.flags),
    keys: own.filter(({ flags }) => isKey(flags)).length,
  };
}
