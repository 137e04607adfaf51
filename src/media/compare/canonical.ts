/** The runs of one tool after normalisation: what a reader of probe_report would notice. */
import type { ReportTool } from '../tools/probe_report.ts';
import { isShown } from '../report/compare.ts';
import { ruleOf } from '../report/fields.ts';
import { readFfprobe } from '../report/normalise/ffprobe.ts';
import { readMediainfo } from '../report/normalise/mediainfo.ts';
import { valueOf } from '../report/normalise/ratio.ts';
import { STREAM_TYPES, type Field, type Fields, type Side, type SideStream, type StreamType } from '../report/side.ts';
import { frameOf, same } from '../report/tolerances.ts';
import { changeOver } from './change.ts';
import type { Findings, Found, Labelled } from './findings.ts';

const READ = { ffprobe: readFfprobe, mediainfo: readMediainfo } as const;

interface Run extends Labelled {
  output: unknown;
}

export function compareCanonical(tool: ReportTool, runs: readonly Run[], findings: Findings): void {
  const read = runs.flatMap((run) => {
    const side = READ[tool](run.output, run.version);
    if (!side) findings.notCompared(tool, run.label, 'the output names neither a container nor streams');
    return side ? [{ run, side }] : [];
  });
  if (read.length < 2) return;
  const among = read.map(({ run }) => run);
  const sides = read.map(({ side }) => side);
  const add: Add = (found) => findings.add({ tool, level: 'canonical', ...found });
  const slowest = Math.max(
    frameOf({}),
    ...sides.flatMap(({ streams }) => streams.map(({ fields }) => frameOf(fields))),
  );
  const containers = sides.map(({ container }) => container);
  compareFields({ path: 'container', generic: 'container', of: 'container', frame: slowest }, among, containers, add);
  for (const type of STREAM_TYPES) compareStreams(type, among, sides, add);
}

type Add = (found: Omit<Found, 'tool' | 'level'>) => void;
interface Part {
  path: string;
  generic: string;
  of: 'container' | 'stream';
  frame: number;
}

function compareStreams(type: StreamType, runs: readonly Labelled[], sides: readonly Side[], add: Add): void {
  for (const [nth, streams] of rows(sides.map((side) => side.streams.filter((one) => one.type === type))).entries()) {
    const [path, generic] = [`${type}[${nth}]`, `${type}[]`];
    const seen = streams.flatMap((stream, at) => (stream ? [{ stream, run: runs[at]! }] : []));
    if (seen.length < streams.length) {
      const values = streams.map((stream) => stream && (stream.fields['codec.name'] ?? type));
      // That the codec differs as well is told of the field.
      const change = changeOver(streams.map((stream) => stream && type))!;
      add({ path, generic, change, runs, values });
    }
    const frame = Math.max(...seen.map(({ stream }) => frameOf(stream.fields)));
    const [among, fields] = [seen.map(({ run }) => run), seen.map(({ stream }) => stream.fields)];
    compareFields({ path, generic, of: 'stream', frame }, among, fields, add);
  }
}

/** The same stream of each run: by the container's number of it where every run names all of them, else in order. */
function rows(streams: readonly SideStream[][]): (SideStream | undefined)[][] {
  const ids = streams.map((list) => list.map(({ id }) => id));
  const named = ids.every((list) => list.every((id) => id !== undefined) && new Set(list).size === list.length);
  if (named) {
    const all = [...new Set(ids.flat())];
    return all.map((id) => streams.map((list) => list.find((stream) => stream.id === id)));
  }
  const most = Math.max(...streams.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => streams.map((list) => list[at]));
}

function compareFields(part: Part, runs: readonly Labelled[], said: readonly Fields[], add: Add): void {
  if (said.length < 2) return;
  const duration = Number(said.find((fields) => fields['duration'] !== undefined)?.['duration'] ?? 0);
  const names = new Set(said.flatMap((fields) => Object.keys(fields)));
  for (const field of names) {
    if (!isShown(field)) continue;
    const tolerance = ruleOf(field)[part.of];
    const rounds = (a: unknown, b: unknown): boolean =>
      tolerance !== undefined &&
      valueOf(a) !== undefined &&
      valueOf(b) !== undefined &&
      same(a as Field, b as Field, tolerance, part.frame, duration);
    const values = said.map((fields) => (Object.hasOwn(fields, field) ? fields[field] : undefined));
    const change = changeOver(values, rounds);
    if (change !== undefined)
      add({ path: `${part.path}.${field}`, generic: `${part.generic}.${field}`, change, runs, values });
  }
}
