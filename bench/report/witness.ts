/**
 * What the pictures, as a third witness, change of the report on held-out files. Reads them where the cache lacks them,
 * and writes the table of docs/reports/report.md.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { framesOf } from '../../src/media/report/frames.ts';
import { objectOf } from '../../src/media/report/json.ts';
import { report } from '../../src/media/report/report.ts';
import type { FramesOption } from '../../src/media/tools/probe_report.ts';
import { calibrationError, type Answered } from './calibration.ts';
import { examples, type Example } from './collect.ts';
import { recipe } from './recipe.ts';
import { splitOf } from './rows.ts';
import { programs, reportCache, type Program } from './tools.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'report.md');
const folder = join(reportCache, 'pictures');
const [FFPROBE, MEDIAINFO] = ['9.0', '26.10'];

/** Fields of which both pictures and the truth of a generated file may say something. */
const FIELDS = ['color.primaries', 'color.transfer', 'color.matrix', 'scan_type', 'scan_order'];
const WAYS: readonly FramesOption[] = ['never', 'auto', 'always'];

export interface Answer extends Answered {
  /** Whether the report has a value at all. */
  isKnown: boolean;
}

/** Of the fields of the only video. `pictures`: what ffprobe printed of some; null: nothing. */
export function answersOf(
  { truth, readings }: Pick<Example, 'truth' | 'readings'>,
  pictures: unknown,
  way: FramesOption,
): Answer[] {
  const [ffprobe, mediainfo] = [readings[`ffprobe ${FFPROBE}`], readings[`mediainfo ${MEDIAINFO}`]];
  const wanted = truth.streams.find(({ type }) => type === 'video')?.values;
  if (typeof ffprobe !== 'string' || typeof mediainfo !== 'string' || !wanted) return [];
  const output: unknown = JSON.parse(ffprobe);
  const isRead = pictures !== null && framesOf(output, way)?.pictures !== undefined;
  const made = report({
    ffprobe: { version: FFPROBE, output },
    mediainfo: { version: MEDIAINFO, output: JSON.parse(mediainfo) },
    diff: false,
    prefer: null,
    ...(isRead ? { frames: pictures } : {}),
  });
  const [video, ...others] = (made?.streams ?? []).filter(({ type }) => type === 'video');
  if (!made || !video || others.length > 0) return [];
  return FIELDS.flatMap((field): Answer[] => {
    const truly = wanted[field];
    // Its container was given other colours than its stream: neither is wrong.
    if (truly === undefined || (field.startsWith('color.') && recipe(truth.number).relabel)) return [];
    const [name = '', member] = field.split('.');
    const outer = objectOf(video)[name];
    const value = member === undefined ? outer : objectOf(outer)[member];
    // What pictures say is not weighed, and has no confidence.
    const confidence = made.confidence[`streams[${video.index}].${field}`] ?? 1;
    return [{ file: truth.number, field, weight: 1, right: value === truly, confidence, isKnown: value !== undefined }];
  });
}

function cell(answers: readonly Answer[]): string {
  const known = answers.filter(({ isKnown }) => isKnown);
  const right = known.filter((one) => one.right).length;
  return `${right} / ${known.length - right} / ${answers.length - known.length}`;
}

const errorOf = (answers: readonly Answer[]): string =>
  `${(100 * calibrationError(answers.filter(({ isKnown }) => isKnown))).toFixed(1)} %`;

/** By what was asked of the pictures, in the order of WAYS. */
export function witnessTable(by: readonly (readonly Answer[])[]): string[] {
  const rows = FIELDS.map((field) => {
    const cells = by.map((answers) => cell(answers.filter((one) => one.field === field)));
    return `| \`${field}\` | ${cells.join(' | ')} |`;
  });
  return [
    `| right / wrong / not known | ${WAYS.map((way) => `\`${way}\``).join(' | ')} |`,
    '|---|---|---|---|',
    ...rows,
    `| expected calibration error | ${by.map(errorOf).join(' | ')} |`,
  ];
}

const optionsOf = (output: string | null | undefined, way: FramesOption) =>
  typeof output === 'string' ? framesOf(JSON.parse(output), way)?.pictures : undefined;

async function picturesOf({ file, readings }: Example, ffprobe: Program): Promise<unknown> {
  const kept = join(folder, `${basename(file)}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8')) as unknown;
  const options = optionsOf(readings[`ffprobe ${FFPROBE}`], 'always');
  const printed = options && (await ffprobe.run(file, options));
  const pictures = printed && !printed.failed ? printed.output : 'null';
  writeFileSync(kept, pictures);
  return JSON.parse(pictures) as unknown;
}

async function measure(): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const ffprobe = (await programs()).find(({ tool, version }) => tool === 'ffprobe' && version === FFPROBE);
  if (!ffprobe) throw new Error(`the image of ffprobe ${FFPROBE} is not in the cache`);
  const files = examples().filter(({ truth }) => splitOf(truth.number) === 'test');
  const by = WAYS.map((): Answer[] => []);
  for (const example of files) {
    const pictures = await picturesOf(example, ffprobe);
    for (const [place, way] of WAYS.entries()) by[place]!.push(...answersOf(example, pictures, way));
  }
  const read = (way: FramesOption) =>
    files.filter(({ readings }) => optionsOf(readings[`ffprobe ${FFPROBE}`], way)).length;
  return [
    `${files.length} held-out files, read by ffprobe ${FFPROBE} and mediainfo ${MEDIAINFO}. Pictures were read of ` +
      `${WAYS.map((way) => `${read(way)} with \`${way}\``).join(', ')}.`,
    '',
    ...witnessTable(by),
  ].join('\n');
}

if (import.meta.main) {
  const text = await measure();
  console.log(text);
  writePart(page, 'witness', text);
}
