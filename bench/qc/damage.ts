/** What is found of damage in a small file: the programs of the images, and the reader of the product. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { graphOf, type QcStream } from '../../src/media/qc/graph.ts';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { LONGEST, verdictOf } from '../../src/media/qc/verdict.ts';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { qc } from '../../src/media/tools/qc.ts';
import { thresholdsOf } from '../../src/media/tools/qc_options.ts';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { integrityOf, streamsIn } from '../../src/service/runner/qc.ts';
import { fetchProgram } from '../../test/debian_program.ts';
import { random, type Random } from '../report/random.ts';

const AV1 = '-an -c:v libaom-av1 -cpu-used 8 -crf 45 -b:v 0 -f mp4';

/** Small, so that a byte is likely to matter. Pictures move, and the sound is no tone. */
const FILES: readonly [name: string, options: string, reader?: 'older'][] = [
  ['H.264 in MP4', '-an -c:v libx264 -preset veryfast -crf 30 -f mp4'],
  ['H.264 in MPEG-TS', '-an -c:v libx264 -preset veryfast -crf 30 -f mpegts'],
  ['HEVC in Matroska', '-an -c:v libx265 -preset veryfast -x265-params log-level=error -write_crc32 1 -f matroska'],
  ['AV1 in MP4', AV1],
  ['AV1 in MP4, by ffprobe 7.1', AV1, 'older'],
  ['VP9 in WebM', '-an -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -crf 40 -b:v 0 -f webm'],
  ['MPEG-2 in MPEG-TS', '-an -c:v mpeg2video -q:v 12 -f mpegts'],
  ['ProRes in MOV', '-an -c:v prores_ks -profile:v 0 -s 96x64 -f mov'],
  ['Motion JPEG in AVI', '-an -c:v mjpeg -q:v 12 -s 96x64 -f avi'],
  ['FFV1 in Matroska', '-an -c:v ffv1 -level 3 -slices 4 -slicecrc 1 -g 1 -s 96x64 -write_crc32 0 -f matroska'],
  ['FLAC', '-vn -c:a flac -f flac'],
  ['MP3', '-vn -c:a libmp3lame -b:a 64k -f mp3'],
  ['AAC in MP4', '-vn -c:a aac -b:a 64k -f mp4'],
  ['AC-3', '-vn -c:a ac3 -b:a 96k -f ac3'],
  ['Opus in Ogg', '-vn -c:a libopus -b:a 48k -f ogg'],
  ['Vorbis in Ogg', '-vn -c:a libvorbis -q:a 1 -f ogg'],
  ['PCM in WAV', '-vn -c:a pcm_s16le -f wav'],
];

const SOURCES = '-v error -y -f lavfi -i testsrc2=s=192x128:r=25 -f lavfi -i anoisesrc=a=0.2:c=pink:r=32000';

export interface Programs {
  ffprobe: AssignedTool;
  /** An ffprobe that decodes AV1, too. */
  older: AssignedTool;
  qc: AssignedTool;
}

/** A tool as the agent runs it, without its walls. */
async function run(
  file: string,
  { name, version, options, command }: AssignedTool,
  onOutput?: (bytes: Buffer) => void,
  streams?: readonly QcStream[],
): Promise<RawToolResult> {
  const row = name === 'qc' ? qc : ffprobe;
  const args = row.args(options, file, { wallMs: 0, ...(streams ? { streams } : {}) });
  // A file and no address: bytes of errors are those of the file in any case.
  const local = args.filter((part, at) => part !== '-protocol_whitelist' && args[at - 1] !== '-protocol_whitelist');
  const child = spawn(command[0]!, [...command.slice(1), ...local], { stdio: ['ignore', 'pipe', 'ignore'] });
  const held: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => (onOutput ? onOutput(bytes) : held.push(bytes)));
  const [code] = (await once(child, 'close')) as [number | null];
  return {
    name,
    version,
    signal: null,
    exitCode: code,
    format: 'json',
    durationMs: 0,
    usageMs: 0,
    success: code === 0,
    ...(code === 0 ? {} : { error: `exit code ${code}` }),
    output: Buffer.concat(held),
  } as RawToolResult;
}

/** Undefined: ffprobe finds no streams in it. */
export async function examined(
  programs: Pick<Programs, 'ffprobe' | 'qc'>,
  file: string,
): Promise<QcReport | undefined> {
  const read = await run(file, { ...programs.ffprobe, options: {} });
  const streams = streamsIn(read);
  if (!streams || streams.length === 0) return undefined;
  const printed = (JSON.parse(read.output!.toString()) as { streams: Record<string, unknown>[] }).streams;
  const [options, thresholds] = [{ integrity: 'true' }, thresholdsOf({})];
  const graph = graphOf(streams, thresholds);
  const gathered = qcGatherer(graph, thresholds);
  const decoded = await run(file, { ...programs.qc, options }, (bytes) => gathered.push(bytes), streams);
  const found = await integrityOf({
    options,
    reader: programs.ffprobe,
    printed,
    checked: graph.checked,
    hashes: gathered.hashes,
    assignment: { timeoutMs: 60_000, source: { class: 'file' } } as Assignment,
    leftMs: () => 60_000,
    run: (tool, onOutput) => run(file, tool, onOutput),
    readFile: async (take) => void take(readFileSync(file)),
  });
  return { ...gathered.told(decoded.success ? undefined : decoded.error), ...found };
}

const errorsOf = ({ integrity }: QcReport): number =>
  (integrity?.streams ?? []).reduce((sum, { errors }) => sum + errors.count, 0);
const sumsWrong = ({ integrity }: QcReport): boolean => (integrity?.checksums ?? []).some(({ wrong }) => wrong > 0);
const hashesOf = ({ integrity }: QcReport): string => JSON.stringify(integrity?.streams.map(({ hash }) => hash));

const textsOf = (report: QcReport): string[] =>
  verdictOf({ response: report }, LONGEST).findings.map(({ text }) => text);

export const DAMAGE_HEAD = [
  ...'file|damage|places|found|of which: not read to its end|checksum|decode errors|another finding'.split('|'),
  ...'silently wrong|harmless'.split('|'),
];

/** `flac -t` of Debian: true if it finds the file whole. */
async function flacTest(): Promise<(file: string) => boolean> {
  const root = await fetchProgram({ name: 'flac', program: 'usr/bin/flac' });
  const libraries = globSync(join(root, 'usr/lib/*-linux-gnu')).join(':');
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  return (file) => spawnSync(join(root, 'usr/bin/flac'), ['-t', '-s', file], { env, stdio: 'ignore' }).status === 0;
}

const FOUND = ['unread', 'checksum', 'errors', 'finding'] as const;
const OUTCOMES = [...FOUND, 'wrong', 'same'] as const;
type Outcome = (typeof OUTCOMES)[number];
const isFound = (outcome: Outcome): boolean => outcome !== 'wrong' && outcome !== 'same';

function outcomeOf(report: QcReport | undefined, sound: QcReport): Outcome {
  if (report === undefined || report.cut !== undefined || report.integrity?.cut !== undefined) return 'unread';
  if (sumsWrong(report)) return 'checksum';
  if (errorsOf(report) > 0) return 'errors';
  const usual = textsOf(sound);
  if (textsOf(report).some((text) => !usual.includes(text))) return 'finding';
  return hashesOf(report) === hashesOf(sound) ? 'same' : 'wrong';
}

/** What may happen to a file: a bit is turned, or a sector is lost. */
const DAMAGES: Readonly<Record<string, (bytes: Buffer, r: Random) => Buffer>> = {
  'a bit is turned': (bytes, r) => {
    const copy = Buffer.from(bytes);
    const at = r.between(0, bytes.length - 1);
    copy[at] = copy[at]! ^ (1 << r.between(0, 7));
    return copy;
  },
  '512 bytes are zero': (bytes, r) => {
    const at = r.between(0, bytes.length - 513);
    return Buffer.from(bytes).fill(0, at, at + 512);
  },
};

const AT_ONCE = 2;

interface Tried {
  programs: Pick<Programs, 'ffprobe' | 'qc'>;
  folder: string;
  sound: QcReport;
  bytes: Buffer;
  breaks: (bytes: Buffer, r: Random) => Buffer;
  places: number;
  /** Also told the file. */
  alsoTried?: (file: string, outcome: Outcome) => void;
}

async function outcomesOf({ programs, folder, sound, bytes, breaks, places, alsoTried }: Tried): Promise<Outcome[]> {
  const r = random(bytes.length);
  const left = Array.from({ length: places }, () => breaks(bytes, r));
  const outcomes: Outcome[] = [];
  const each = Array.from({ length: AT_ONCE }, async (_, at) => {
    const broken = join(folder, `broken${at}.bin`);
    for (let copy = left.pop(); copy; copy = left.pop()) {
      writeFileSync(broken, copy);
      const outcome = outcomeOf(await examined(programs, broken), sound);
      alsoTried?.(broken, outcome);
      outcomes.push(outcome);
    }
  });
  await Promise.all(each);
  return outcomes;
}

function rowOf(name: string, what: string, outcomes: readonly Outcome[]): string[] {
  const counts = OUTCOMES.map((one) => outcomes.filter((outcome) => outcome === one).length);
  return [name, what, ...[outcomes.length, outcomes.filter(isFound).length, ...counts].map(String)];
}

/** Rows of each kind of file and damage, and what `flac -t` says of the same. */
export async function damage({ qc: checker, ...readers }: Programs, folder: string, places: number) {
  const isWhole = await flacTest();
  const flac = { both: 0, ours: 0, theirs: 0, neither: 0 };
  const besideFlac = (file: string, outcome: Outcome): void => {
    const [ours, theirs] = [isFound(outcome), !isWhole(file)];
    flac[ours ? (theirs ? 'both' : 'ours') : theirs ? 'theirs' : 'neither'] += 1;
  };
  const rows: string[][] = [];
  const all = new Map<string, Outcome[]>(Object.keys(DAMAGES).map((what) => [what, []]));
  let falsely = 0;
  for (const [name, options, reader = 'ffprobe'] of FILES) {
    const programs = { qc: checker, ffprobe: readers[reader] };
    const whole = join(folder, 'whole.bin');
    execFileSync('ffmpeg', [...SOURCES.split(' '), '-t', '3', ...options.split(' '), whole], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const bytes = readFileSync(whole);
    const sound = (await examined(programs, whole))!;
    if (errorsOf(sound) > 0 || sumsWrong(sound)) falsely += 1;
    for (const [what, breaks] of Object.entries(DAMAGES)) {
      const tried = { programs, folder, sound, bytes, breaks, places: Math.ceil(places / FILES.length / all.size) };
      const outcomes = await outcomesOf({ ...tried, ...(name === 'FLAC' ? { alsoTried: besideFlac } : {}) });
      all.get(what)!.push(...outcomes);
      rows.push(rowOf(name, what, outcomes));
      console.log(rows.at(-1)!.join(' | '));
    }
  }
  const { both, ours, theirs, neither } = flac;
  const beside =
    `Whole files that are said to be damaged: ${falsely} of ${FILES.length}.\n\n` +
    `Beside \`flac -t\`, of the FLAC: both find ${both}, only this ${ours}, only flac ${theirs}, ` +
    `neither ${neither}.`;
  return { rows: [...rows, ...[...all].map(([what, outcomes]) => rowOf('all', what, outcomes))], beside };
}
