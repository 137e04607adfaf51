/** What is found of damage in a small file: the programs of the images, and the reader of the product. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { graphOf, type QcStream } from '../../src/media/qc/graph.ts';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { qc } from '../../src/media/tools/qc.ts';
import { thresholdsOf } from '../../src/media/tools/qc_options.ts';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { integrityOf, streamsIn } from '../../src/service/runner/qc.ts';
import { fetchProgram } from '../../test/debian_program.ts';
import { random, type Random } from '../report/random.ts';

/** Small, so that a byte is likely to matter. Pictures move, and the sound is no tone. */
const FILES: readonly [name: string, options: string][] = [
  ['H.264 in MP4', '-an -c:v libx264 -preset veryfast -crf 30 -f mp4'],
  ['H.264 in MPEG-TS', '-an -c:v libx264 -preset veryfast -crf 30 -f mpegts'],
  ['HEVC in Matroska', '-an -c:v libx265 -preset veryfast -x265-params log-level=error -write_crc32 1 -f matroska'],
  ['MPEG-2 in MPEG-TS', '-an -c:v mpeg2video -q:v 12 -f mpegts'],
  ['FFV1 in Matroska', '-an -c:v ffv1 -level 3 -slices 4 -slicecrc 1 -g 1 -s 96x64 -write_crc32 0 -f matroska'],
  ['FLAC', '-vn -c:a flac -f flac'],
  ['MP3', '-vn -c:a libmp3lame -b:a 64k -f mp3'],
  ['AAC in MP4', '-vn -c:a aac -b:a 64k -f mp4'],
  ['Vorbis in Ogg', '-vn -c:a libvorbis -q:a 1 -f ogg'],
  ['PCM in WAV', '-vn -c:a pcm_s16le -f wav'],
];

const SOURCES = '-v error -y -f lavfi -i testsrc2=s=192x128:r=25 -f lavfi -i anoisesrc=a=0.2:c=pink:r=32000';

export interface Programs {
  ffprobe: AssignedTool;
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
async function examined(programs: Programs, file: string): Promise<QcReport | undefined> {
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

export const DAMAGE_HEAD =
  'file|damage|found where nothing is|checksum|decode errors|not read to its end|decoded the same|not found'.split('|');

/** `flac -t` of Debian: true if it finds the file whole. */
async function flacTest(): Promise<(file: string) => boolean> {
  const root = await fetchProgram({ name: 'flac', program: 'usr/bin/flac' });
  const libraries = globSync(join(root, 'usr/lib/*-linux-gnu')).join(':');
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  return (file) => spawnSync(join(root, 'usr/bin/flac'), ['-t', '-s', file], { env, stdio: 'ignore' }).status === 0;
}

const OUTCOMES = ['checksum', 'errors', 'unread', 'same', 'missed'] as const;

function outcomeOf(report: QcReport | undefined, sound: QcReport): (typeof OUTCOMES)[number] {
  if (report === undefined || report.cut !== undefined || report.integrity?.cut !== undefined) return 'unread';
  if (sumsWrong(report)) return 'checksum';
  if (errorsOf(report) > 0) return 'errors';
  return hashesOf(report) === hashesOf(sound) ? 'same' : 'missed';
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

/** A row of each kind of file and damage, and what `flac -t` says of the same. */
export async function damage(programs: Programs, folder: string, places: number) {
  const rows: string[][] = [];
  const isWhole = await flacTest();
  const flac = { both: 0, ours: 0, theirs: 0, neither: 0 };
  for (const [name, options] of FILES) {
    const [whole, broken] = [join(folder, 'whole.bin'), join(folder, 'broken.bin')];
    execFileSync('ffmpeg', [...SOURCES.split(' '), '-t', '3', ...options.split(' '), whole], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const bytes = readFileSync(whole);
    const sound = (await examined(programs, whole))!;
    const falsely = errorsOf(sound) + (sumsWrong(sound) ? 1 : 0);
    for (const [what, breaks] of Object.entries(DAMAGES)) {
      const r = random(bytes.length);
      const found: string[] = [];
      for (let place = 0; place < places; place += 1) {
        writeFileSync(broken, breaks(bytes, r));
        const outcome = outcomeOf(await examined(programs, broken), sound);
        found.push(outcome);
        if (name !== 'FLAC') continue;
        const [ours, theirs] = [outcome !== 'same' && outcome !== 'missed', !isWhole(broken)];
        flac[ours ? (theirs ? 'both' : 'ours') : theirs ? 'theirs' : 'neither'] += 1;
      }
      const counts = OUTCOMES.map((one) => found.filter((outcome) => outcome === one).length);
      rows.push([name, what, ...[falsely, ...counts].map(String)]);
    }
  }
  const { both, ours, theirs, neither } = flac;
  const beside =
    `Beside \`flac -t\`, of the FLAC: both find ${both}, only this ${ours}, only flac ${theirs}, ` +
    `neither ${neither}.`;
  return { rows, beside };
}
