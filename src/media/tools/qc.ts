/** Content checks: ffmpeg decodes the source through filter graphs, which are made of the streams of ffprobe. */
import { MAX_TIMEOUT_MS } from '../../base/limits.ts';
import { withoutLoggers } from '../qc/decode_errors.ts';
import { graphOf, type QcStream } from '../qc/graph.ts';
import { pictureArgs, PRINT_PICTURES } from '../qc/pictures.ts';
import { hashArgs } from '../qc/stream_hashes.ts';
import { PROTOCOLS } from './ffprobe.ts';
import { OptionError } from './option.ts';
import { keepsPictures, QC_OPTIONS, thresholdsOf } from './qc_options.ts';
import type { InFile, InImage, Program } from './tool.ts';

/** Beside the reader of the source: more would slow the other runners of a node. */
const THREADS = '2';
const SAMPLE: readonly QcStream[] = [{ index: 0, type: 'audio', declared: 0.1, channels: 2 }];

/** What ffmpeg says first: later lines are about filters and outputs that end because of it. */
const firstLine = (text: string): string | undefined =>
  text
    .split(/[\r\n]+/)
    .map(withoutLoggers)
    .find((line) => line !== '');

export const qc: InFile<InImage<Program<'qc'>>> = {
  name: 'qc',
  options: QC_OPTIONS,
  args(options, address, { streams = [], printsPictures = false } = { wallMs: 0 }) {
    const quiet = ['-hide_banner', '-loglevel', 'error', '-nostdin'];
    if (printsPictures) return [...quiet, ...PRINT_PICTURES];
    const { filters, maps, checked, pictured } = graphOf(streams, thresholdsOf(options), keepsPictures(options));
    if (maps.length === 0) throw new OptionError('qc', 'has no streams to decode: it runs after ffprobe');
    const reading = ['-protocol_whitelist', PROTOCOLS, '-threads', THREADS, '-noautorotate', '-i', address];
    const graphs = filters.flatMap((filter) => ['-filter_complex', filter]);
    const checking = [...graphs, ...maps.flatMap((label) => ['-map', label])];
    const hashing = options['integrity'] === 'true' ? hashArgs(checked) : [];
    const drawing = pictured ? pictureArgs(pictured) : [];
    return [...quiet, ...reading, ...checking, '-f', 'null', '-', ...hashing, ...drawing];
  },
  /** Of its lines the runner makes the report. */
  format: () => 'text',
  verifiesTls: () => true,
  failure({ code, stderr }) {
    return code === 0 ? undefined : (firstLine(stderr) ?? 'ffmpeg failed without a message');
  },
  timeoutMs: MAX_TIMEOUT_MS,
  file: {
    byDefault: false,
    enables: 'Decode the pictures and the sound, and check them. The whole source is read, within `timeout`.',
    description: 'Content checks: black, freezes, silence, loudness, peaks, clipping.',
    tunable: true,
  },
  /** Proves that it decodes, that the filters for sound are there, and that their lines can be read. */
  proof: {
    ask: { version: '-version', help: '-h' },
    says: /^ffmpeg version (\S+).*$/m,
    sample: {
      run: { wallMs: 0, streams: SAMPLE },
      async parsed(stdout) {
        const { qcGatherer } = await import('../qc/gather.ts');
        const gatherer = qcGatherer({ checked: [...SAMPLE], left: [] }, thresholdsOf({}));
        gatherer.push(Buffer.from(stdout));
        return gatherer.told();
      },
    },
    misreads: (said) =>
      /"audio":\[\{"stream":0,"decoded":\d.*"integrated":null.*"unread_lines":0/.test(said)
        ? undefined
        : 'it does not find the silence of a WAV',
  },
};
