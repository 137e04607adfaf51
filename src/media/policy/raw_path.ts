/**
 * Paths into a tool's own output: `track[@type=Video].Format_Level`, `streams[codec_type=audio].tags."handler_name"`.
 * What brackets select are the elements that a rule judges one by one; the names behind the last bracket are the value
 * that each of them has.
 */
import { listOf, objectOf } from '../report/json.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { LONGEST_PATH, MOST_SEGMENTS } from './limits.ts';
import type { Meter } from './run.ts';
import type { RawTool } from './types.ts';

type Step =
  | { kind: 'member'; name: string }
  | { kind: 'index'; index: number }
  /** Of what the brackets before it selected. */
  | { kind: 'nth'; index: number }
  | { kind: 'all' }
  | { kind: 'where'; name: string; value: string };

export interface RawPath {
  text: string;
  /** What leads to the elements, and from each of them to its value. */
  elements: readonly Step[];
  value: readonly string[];
}

/** What a tool's output begins with, so that a misspelt path is refused and not unknown in every file. */
const ROOTS: Readonly<Record<RawTool, readonly string[]>> = {
  ffprobe: [
    'format',
    'streams',
    'programs',
    'stream_groups',
    'chapters',
    'frames',
    'packets',
    'packets_and_frames',
    'program_version',
    'library_versions',
    'pixel_formats',
  ],
  mediainfo: ['track', '@ref'],
  msv: ['success', 'error', 'tool', 'version', 'reference_version', 'playlists', 'variants', 'messages', 'summary'],
  c2pa: [
    'success',
    'error',
    'summary',
    'active_manifest',
    'manifests',
    'remote_manifest',
    'validation_state',
    'validation_results',
  ],
};

const NAME = /^(?:"([^"]{1,200})"|([^.[\]"=]{1,200}))/;
const BRACKET = /^\[(?:(\d{1,5})|(\*)|([^=[\]"]{1,100})=(?:"([^"]{0,200})"|([^\]"]{0,200})))\]/;

export function rawPath(text: unknown, tool: RawTool, at: string): RawPath {
  if (typeof text !== 'string' || text === '' || text.length > LONGEST_PATH)
    throw new PolicyError(at, `must be a path of at most ${LONGEST_PATH} characters`);
  const steps: Step[] = [];
  let rest = text;
  while (rest !== '') {
    const name = NAME.exec(rest);
    if (!name) throw invalid(text, rest, at);
    steps.push({ kind: 'member', name: name[1] ?? name[2]! });
    rest = rest.slice(name[0].length);
    for (let found = BRACKET.exec(rest); found; found = BRACKET.exec(rest)) {
      const [whole, index, all, member, quotedValue, value] = found;
      steps.push(
        index === undefined
          ? all === undefined
            ? { kind: 'where', name: member!, value: quotedValue ?? value! }
            : { kind: 'all' }
          : { kind: ['all', 'where'].includes(steps.at(-1)!.kind) ? 'nth' : 'index', index: Number(index) },
      );
      rest = rest.slice(whole.length);
    }
    if (rest === '') break;
    if (!rest.startsWith('.') || rest.length === 1) throw invalid(text, rest, at);
    rest = rest.slice(1);
  }
  if (steps.length > MOST_SEGMENTS) throw new PolicyError(at, `must have at most ${MOST_SEGMENTS} steps`);
  const first = steps[0] as { kind: 'member'; name: string };
  if (!ROOTS[tool].includes(first.name)) throw unknownName(at, `in the output of ${tool}`, first.name, ROOTS[tool]);
  const last = steps.findLastIndex(({ kind }) => kind !== 'member');
  return {
    text,
    elements: steps.slice(0, last + 1),
    value: steps.slice(last + 1).map((step) => (step as { name: string }).name),
  };
}

const invalid = (text: string, rest: string, at: string): PolicyError =>
  new PolicyError(
    at,
    `${quoted(text)} is not a path: invalid at ${quoted(rest.slice(0, 20))}; accepted: names with dots between them, ` +
      'and [n], [*] or [name=value] behind a list',
  );

const member = (value: unknown, name: string): unknown => {
  const object = objectOf(value);
  return Object.hasOwn(object, name) ? object[name] : undefined;
};

/** Where paths begin. */
export function rootOf(tool: RawTool, output: unknown): unknown {
  if (tool !== 'mediainfo') return output;
  return listOf(member(listOf(output)[0], 'media'))[0];
}

/** Undefined where the steps are used up. */
export function elementsOf({ elements }: RawPath, root: unknown, meter: Meter): unknown[] | undefined {
  let found: unknown[] = [root];
  for (const step of elements) {
    if (step.kind === 'nth') {
      found = found.slice(step.index, step.index + 1);
      continue;
    }
    const next: unknown[] = [];
    for (const value of found) {
      if (!meter.step()) return undefined;
      if (step.kind === 'member') {
        const inner = member(value, step.name);
        if (inner !== undefined) next.push(inner);
        continue;
      }
      const list = listOf(value);
      if (step.kind === 'index') {
        if (step.index < list.length) next.push(list[step.index]);
        continue;
      }
      if (!meter.step(list.length)) return undefined;
      for (const one of list) if (step.kind === 'all' || textOf(member(one, step.name)) === step.value) next.push(one);
    }
    found = next;
  }
  return found;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;

export const valueIn = ({ value }: RawPath, element: unknown): unknown =>
  value.reduce<unknown>((inner, name) => member(inner, name), element);
