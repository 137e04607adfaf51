/** Damage of a source: one more decode by ffprobe, and one more read of the file by the agent itself. */
import { errorGatherer, ERROR_OPTIONS, type ErrorStream } from '../../media/qc/decode_errors.ts';
import { fileSums } from '../../media/qc/file_sums.ts';
import type { QcStream } from '../../media/qc/graph.ts';
import { LONGEST_CUT } from '../../media/qc/limits.ts';
import type { QcChecksum, QcFile, QcIntegrity, QcReport } from '../../media/qc/schema.ts';
import { flacMd5Of, HEADS } from '../../media/qc/stream_hashes.ts';
import { NOTHING_ELSE } from '../../media/tools/ffprobe_options.ts';
import type { AssignedTool, Assignment } from '../../platform/bus/messages.ts';
import type { QcRun } from './qc.ts';
import { printedStreams, readingOptions } from './report.ts';

const GIVEN = ['sha256', 'md5'] as const;

export interface IntegrityRun extends Pick<QcRun, 'run' | 'readFile'> {
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
        hash: asked.hashes.get(at) ?? null,
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
