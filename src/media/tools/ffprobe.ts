/** ffprobe: its arguments, and how its output is read. */
import { FFPROBE_OPTIONS, LOG_LEVELS } from './ffprobe_options.ts';
import { readWriter, writerOf } from './ffprobe_writers.ts';
import { readOptions } from './option.ts';
import { findsPcm, lastLine, type InFile, type InImage, type Program } from './tool.ts';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  xml: 'application/xml',
  csv: 'text/csv',
};

/** Protocols that a playlist may make it open: the source proxy on 127.0.0.1, keys, inline data; never a file. */
export const PROTOCOLS = 'http,https,httpproxy,tls,tcp,crypto,data';

/**
 * Messages of decoders and demuxers about bytes that cannot be right. Not those about pictures that refer to earlier
 * ones: a recording may begin anywhere.
 */
const DAMAGE = new RegExp(
  [
    'error while decoding MB',
    '\\bdamaged\\b',
    '\\bcorrupt',
    'invalid NAL unit size',
    'error splitting the input into NAL units',
    'input buffer exhausted',
    'invalid as first byte of an EBML number',
    'exceeds containing master element',
  ].join('|'),
  'i',
);
/** `[h264 @ 0x55d0c8a0] `: the address is another one each time. */
const LOGGER = /^\[([\w,]+) @ 0x[0-9a-f]+\]\s*/;
const LONGEST_DAMAGE = 200;

function agree({ output_format: format }: Readonly<Record<string, string>>): void {
  if (format !== undefined) readWriter(format);
}

export const ffprobe: InFile<InImage<Program<'ffprobe'>>> = {
  name: 'ffprobe',
  options: FFPROBE_OPTIONS,
  readsStreams: true,
  reads: ['image'],
  agree,
  args(options, address) {
    agree(options);
    const args = ['-hide_banner', '-loglevel', 'error', '-protocol_whitelist', PROTOCOLS];
    for (const [spec, value] of readOptions(FFPROBE_OPTIONS, options)) {
      if (spec.flag === undefined || value === null || value === false) continue;
      if (value === 0 && spec.default === 0) continue;
      if (spec.name === 'show_data_hash') args.push('-show_data_hash', 'MD5');
      else if (spec.name === 'show_log') args.push('-show_log', String(LOG_LEVELS[String(value)]));
      else if (value !== true) args.push(`-${spec.flag}`, String(value));
      else args.push(`-${spec.flag}`, ...(spec.passed === undefined ? [] : [spec.passed]));
    }
    // Uses the single connection that the source proxy relays.
    if (address.startsWith('rtsp:')) args.push('-rtsp_transport', 'tcp');
    return [...args, '-i', address];
  },
  format: (options) => (writerOf(options['output_format']) === 'json' ? 'json' : 'text'),
  verifiesTls: (options) => options['tls_verify'] === 'true',
  failure({ code, stdout, stderr, format }) {
    const own = format === 'json' && stdout.length < 65_536 ? ownError(stdout) : undefined;
    if (code === 0 && own === undefined) return undefined;
    return own ?? lastLine(stderr) ?? 'ffprobe failed without a message';
  },
  damage(stderr) {
    const line = stderr.split(/[\r\n]+/).find((one) => DAMAGE.test(one));
    return line?.replace(LOGGER, '$1: ').trim().slice(0, LONGEST_DAMAGE);
  },
  formats: {
    of: (options) => writerOf(options['output_format']),
    mediaType: (format) => `${MEDIA_TYPES[format] ?? 'text/plain'}; charset=utf-8`,
  },
  file: {
    byDefault: true,
    enables: 'Run ffprobe.',
    description: 'ffprobe and its options.',
    tunable: true,
    hosts: true,
  },
  proof: {
    ask: { version: '-version', help: '-h' },
    says: /^ffprobe version (\S+).*$/m,
    protocols: async (print) => protocolsIn(await print('-protocols')),
    misreads: findsPcm,
  },
};

/** Input protocols in its list. */
export const protocolsIn = (list: string): string[] =>
  (/^Input:\s*$([\s\S]*?)(?:^Output:|(?![\s\S]))/m.exec(list)?.[1] ?? '')
    .split(/\s+/)
    .filter((name) => name !== '')
    .sort();

/** The error that -show_error added to the output. */
function ownError(stdout: string): string | undefined {
  try {
    const { error } = JSON.parse(stdout) as { error?: { string?: unknown } };
    return typeof error?.string === 'string' ? error.string : undefined;
  } catch {
    return undefined;
  }
}
