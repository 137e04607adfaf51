/** Content checks: the graph is made of the streams that ffprobe found, and the report while it is printed. */
import { codeMember } from '../../base/causes.ts';
import { isObject } from '../../base/is_object.ts';
import { ERROR_OPTIONS, errorGatherer, type ErrorStream } from '../../media/qc/decode_errors.ts';
import { fileSums } from '../../media/qc/file_sums.ts';
import { qcGatherer, type QcProgress } from '../../media/qc/gather.ts';
import { type Graph, graphOf, type QcStream } from '../../media/qc/graph.ts';
import { LONGEST_CUT } from '../../media/qc/limits.ts';
import { picturesIn, pictureSize } from '../../media/qc/pictures.ts';
import type { QcPictures } from '../../media/qc/pictures_schema.ts';
import type { Fields, QcChecksum, QcFile, QcIntegrity, QcReport } from '../../media/qc/schema.ts';
import { flacMd5Of, HEADS, pcmOf } from '../../media/qc/stream_hashes.ts';
import { ffprobe } from '../../media/tools/ffprobe.ts';
import { NOTHING_ELSE } from '../../media/tools/ffprobe_options.ts';
import { keepsPictures, thresholdsOf } from '../../media/tools/qc_options.ts';
import type { Run } from '../../media/tools/tool.ts';
import { type AssignedTool, type Assignment, withoutResult } from '../../platform/bus/messages.ts';
import type { RawToolResult } from './output.ts';
import { printedStreams, readingOptions } from './report.ts';

export interface QcRun {
  /** The checks as asked for. */
  tool: AssignedTool;
  assignment: Assignment;
  /** Results of the job so far. */
  ran: readonly RawToolResult[];
  run(tool: AssignedTool, onOutput?: (bytes: Buffer) => void, after?: RunAfter): Promise<RawToolResult>;
  /** The same, with the time that is kept for it. */
  runLast: QcRun['run'];
  /** Called when decoding begins. */
  follow?: ((progress: () => QcProgress) => void) | undefined;
  /**
   * Reads the file from its beginning, for `mostMs`. Why not to its end, if it did not; null: the source is no single
   * file.
   */
  readFile(take: (bytes: Buffer) => void, mostMs: number): Promise<string | null | undefined>;
}
export type RunAfter = Pick<Run, 'streams' | 'printsPictures'>;

export interface QcRan {
  result: RawToolResult;
  pictures?: Buffer;
}

const secondsIn = (value: unknown): number | null => {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN;
  return Number.isFinite(seconds) && seconds >= 0 && seconds < 1e9 ? seconds : null;
};

/**
 * By the first letter of ffprobe's field order. `tb` is what it says of 9 in `fiel` of MP4 and in Matroska: the upper
 * field is shown first, and lines of both are stored in turns.
 */
const FIELDS: Readonly<Record<string, Fields>> = {
  progressive: 'progressive',
  tt: 'top first',
  tb: 'top first',
  bb: 'bottom first',
  bt: 'bottom first',
};
const DEEP = /p(9|1[0-6])(?:le|be)$/;

function pictureOf(stream: Readonly<Record<string, unknown>>): Pick<QcStream, 'size' | 'fields'> {
  const { width, height, pix_fmt: format, field_order: order } = stream;
  const fields = typeof order === 'string' && Object.hasOwn(FIELDS, order) ? FIELDS[order] : undefined;
  const bits = Number(DEEP.exec(String(format))?.[1] ?? 8);
  const isSized = Number.isSafeInteger(width) && Number.isSafeInteger(height);
  return { ...(isSized ? { size: [Number(width), Number(height), bits] } : {}), ...(fields ? { fields } : {}) };
}

/** Undefined: it printed no streams. A cover is no film. */
export function streamsIn(result: RawToolResult | undefined): QcStream[] | undefined {
  const printed = printedStreams(result);
  if (!printed) return undefined;
  const whole = isObject(printed.format) ? secondsIn(printed.format['duration']) : null;
  return printed.streams.flatMap((stream): QcStream[] => {
    const { index, codec_type: type, disposition, duration, channels, sample_rate: rate } = stream;
    if ((type !== 'video' && type !== 'audio') || !Number.isSafeInteger(index) || Number(index) < 0) return [];
    if (isObject(disposition) && disposition['attached_pic'] === 1) return [];
    const more =
      type === 'video' ? pictureOf(stream) : { channels: Number(channels), rate: Number(rate), pcm: pcmOf(stream) };
    return [{ index: Number(index), type, declared: secondsIn(duration) ?? whole, ...more }];
  });
}

/** Why a source is not decoded, if it is longer than what the quota of its token leaves. */
function tooLong(streams: readonly QcStream[], left: number | undefined): string | undefined {
  const longest = Math.max(...streams.map(({ declared }) => declared ?? 0));
  if (left === undefined || longest <= left) return undefined;
  return (
    `the source lasts ${Math.ceil(longest)} s, and the monthly quota leaves ${left} s for content checks; ` +
    'it resets on the first day of the month, UTC'
  );
}

/** What the run of the checks wrote into a file, printed by one more run, and the waveforms. */
async function drawnBy(
  { tool, runLast }: QcRun,
  { pictured }: Graph,
  waveforms: QcPictures['audio'],
): Promise<{ pictures: QcPictures; usageMs: number }> {
  if (!pictured) return { pictures: { video: null, audio: waveforms }, usageMs: 0 };
  const parts: Buffer[] = [];
  const { usageMs } = await runLast(tool, (bytes) => parts.push(bytes), { printsPictures: true });
  const size = pictureSize(pictured);
  const list = picturesIn(Buffer.concat(parts), size);
  const video = list.length > 0 ? { stream: pictured.index, ...size, list } : null;
  return { pictures: { video, audio: waveforms }, usageMs };
}

export async function qcOf(asked: QcRun): Promise<QcRan> {
  const { tool, assignment, ran, run, readFile, follow } = asked;
  const failed = (error: string, more: Partial<RawToolResult> = {}): QcRan => ({
    result: { ...withoutResult(tool), failure: 'failed', error, ...more },
  });
  const reader = assignment.tools.find(({ name }) => name === ffprobe.name);
  if (!reader) return failed('qc needs ffprobe, which is not among the tools');
  let read = ran.find(({ name }) => name === ffprobe.name);
  // Its options may have it print anything: the streams are asked for once more.
  if (read?.success && !streamsIn(read)) read = await run({ ...reader, options: readingOptions(reader) });
  const streams = streamsIn(read);
  if (!streams) return failed(read?.error ?? 'ffprobe found no streams', codeMember(read ?? {}));
  const thresholds = thresholdsOf(tool.options);
  const graph = graphOf(streams, thresholds, keepsPictures(tool.options));
  if (graph.checked.length === 0) return failed('the source has no pictures and no sound to check');
  const refused = tooLong(graph.checked, assignment.decodableSeconds);
  if (refused !== undefined) return failed(refused, { code: 'over-quota' });
  const gathered = qcGatherer(graph, thresholds);
  follow?.(gathered.progress);
  const ends = performance.now() + tool.timeoutMs;
  const result = await run(tool, (bytes) => gathered.push(bytes), { streams });
  if (!result.success && gathered.frames() === 0) return { result };
  const cut = result.success ? undefined : (result.error ?? 'ffmpeg failed').slice(0, LONGEST_CUT);
  const { failure: _, error: __, code: ___, ...facts } = result;
  // It takes in what was printed last, so it comes before everything else that is gathered.
  const report = gathered.told(cut);
  const drawn = graph.pictures ? await drawnBy(asked, graph, gathered.waveforms()) : undefined;
  const damage = await integrityOf({
    options: tool.options,
    reader,
    printed: printedStreams(read)?.streams ?? [],
    checked: graph.checked,
    hashes: gathered.hashes,
    assignment,
    leftMs: () => Math.max(1, Math.floor(ends - performance.now())),
    run,
    readFile,
  });
  const number = drawn && { pictures: drawn.pictures.video?.list.length ?? 0 };
  return {
    result: {
      ...facts,
      success: true,
      format: 'json',
      output: Buffer.from(JSON.stringify({ ...report, ...damage, ...number })),
      usageMs: facts.usageMs + (drawn?.usageMs ?? 0),
      decodedSeconds: gathered.progress().seconds,
    },
    ...(drawn ? { pictures: Buffer.from(JSON.stringify(drawn.pictures)) } : {}),
  };
}

// Damage of a source: one more decode by ffprobe, and one more read of the file by the agent itself.

const MD5_OF_NOTHING = 'd41d8cd98f00b204e9800998ecf8427e';
const GIVEN = ['sha256', 'md5'] as const;

interface IntegrityRun extends Pick<QcRun, 'run' | 'readFile'> {
  /** The checks as asked for, and the ffprobe of the job. */
  options: AssignedTool['options'];
  reader: AssignedTool;
  /** Streams of ffprobe. */
  printed: readonly Readonly<Record<string, unknown>>[];
  checked: readonly QcStream[];
  /** MD5 of each checked stream, by its place. */
  hashes: ReadonlyMap<number, string>;
  assignment: Assignment;
  /** Of the time of the checks: the search is a part of them. */
  leftMs(): number;
}

type Found = Pick<QcReport, 'integrity' | 'file'>;
type FileSums = ReturnType<ReturnType<typeof fileSums>['told']>['checksums'];

/** Nothing where nothing of it was asked for. */
export async function integrityOf(asked: IntegrityRun): Promise<Found> {
  const isAsked = asked.options['integrity'] === 'true';
  const given = GIVEN.filter((name) => asked.options[name] !== undefined);
  if (!isAsked && given.length === 0) return {};
  const integrity = isAsked ? await decoded(asked) : undefined;
  const { file, checksums } = await readWhole(asked, given);
  integrity?.checksums.push(...checksums.map((sums) => ({ stream: null, ...sums })));
  return { ...(integrity ? { integrity } : {}), ...(file ? { file } : {}) };
}

const again = ({ reader, leftMs }: IntegrityRun, options: Readonly<Record<string, string>>): AssignedTool => ({
  ...reader,
  timeoutMs: leftMs(),
  options: { ...readingOptions(reader), ...NOTHING_ELSE, ...options },
});

/** The numbers of streams are those of ffprobe. */
const errorStreams = ({ checked, printed }: IntegrityRun): ErrorStream[] =>
  checked.map(({ index, type, fields }) => {
    const codec = String(printed.find((stream) => stream['index'] === index)?.['codec_name']);
    return { index, type, codec, interlaced: fields !== 'progressive' };
  });

function hashOf(md5: string | undefined): Pick<QcIntegrity['streams'][number], 'hash' | 'no_hash'> {
  if (md5 === MD5_OF_NOTHING) return { hash: null, no_hash: 'nothing of it was decoded' };
  return md5 === undefined ? { hash: null, no_hash: 'the checks ended early' } : { hash: md5 };
}

async function decoded(asked: IntegrityRun): Promise<QcIntegrity> {
  // What it sends the second time is something else.
  if (asked.assignment.source.class === 'stream')
    return { streams: [], checksums: [], until: null, cut: 'a live stream cannot be decoded twice' };
  const streams = errorStreams(asked);
  const gathered = errorGatherer(streams);
  const { success, error } = await asked.run(again(asked, ERROR_OPTIONS), (bytes) => gathered.push(bytes));
  const cut = success ? {} : { until: gathered.until(), cut: (error ?? 'ffprobe failed').slice(0, LONGEST_CUT) };
  const flac = await flacSums(asked, streams);
  return {
    streams: streams.map(({ index, type, codec }, at) => {
      const { packets, frames, errors } = gathered.told(index, success);
      const unknown =
        packets === 0 ? 'it has no packets' : `ffprobe ${asked.reader.version} decoded nothing of its ${codec}`;
      return {
        stream: index,
        type,
        packets,
        errors,
        ...hashOf(asked.hashes.get(at)),
        ...(frames === 0 ? { not_checked: unknown } : {}),
      };
    }),
    checksums: flac ?? [],
    ...(flac ? {} : { until: gathered.until(), cut: 'ffprobe did not print the MD5 of FLAC' }),
    ...cut,
  };
}

/** Samples of 12 or 20 bits are hashed otherwise than decoders hold them. */
const FLAC_BITS: Readonly<Record<string, string>> = { pcm_s8: '8', pcm_s16le: '16', pcm_s24le: '24' };

/** FLAC keeps the MD5 of its samples, in a file of its own as in Matroska and Ogg. Undefined: it cannot be read. */
async function flacSums(asked: IntegrityRun, streams: readonly ErrorStream[]): Promise<QcChecksum[] | undefined> {
  if (!streams.some(({ codec }, at) => codec === 'flac' && asked.hashes.has(at))) return [];
  const heads = printedStreams(await asked.run(again(asked, HEADS)))?.streams;
  if (!heads) return undefined;
  return streams.flatMap(({ index, codec }, at): QcChecksum[] => {
    const head = heads.find((stream) => stream['index'] === index);
    const [kept, hash] = [flacMd5Of(head?.['extradata']), asked.hashes.get(at)];
    const bits = asked.printed.find((stream) => stream['index'] === index)?.['bits_per_raw_sample'];
    const isKept = bits !== undefined && FLAC_BITS[asked.checked[at]!.pcm ?? ''] === bits;
    if (codec !== 'flac' || kept === undefined || hash === undefined || !isKept) return [];
    return [{ kind: 'flac-md5', stream: index, checked: 1, wrong: kept === hash ? 0 : 1, first_wrong_byte: null }];
  });
}

async function readWhole(
  { options, readFile, leftMs }: IntegrityRun,
  given: readonly (typeof GIVEN)[number][],
): Promise<{ file?: QcFile; checksums: FileSums }> {
  const sums = fileSums(['sha256', ...given.filter((name) => name === 'md5')]);
  const cut = await readFile((bytes) => sums.push(bytes), leftMs());
  const { bytes, hashes, checksums } = sums.told(cut === undefined);
  if (cut === null && given.length === 0) return { checksums };
  if (cut !== undefined) {
    const why = cut ?? 'the source is no single file';
    return { file: { bytes: null, sha256: null, cut: why.slice(0, LONGEST_CUT) }, checksums };
  }
  const isRight = given.every((name) => options[name]!.toLowerCase() === hashes[name]);
  return {
    file: { bytes, sha256: null, ...hashes, ...(given.length === 0 ? {} : { as_given: isRight }) },
    checksums,
  };
}
