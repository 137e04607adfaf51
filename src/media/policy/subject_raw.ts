/** The subject `tool` with `path`: what a tool itself printed. */
import { listOf, objectOf } from '../report/json.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { EXHAUSTED, failed, notApplicable, passed, unknown, type Finding, type Told } from './finding.ts';
import { SAID, shown } from './kinds.ts';
import { LONGEST_PATH, MOST_SEGMENTS } from './limits.ts';
import { gathered, once, rangeOf, within, type Node, type Place, type Range } from './node.ts';
import { ofValue, only, OPERATOR_NAMES, testsOf, type Subject, type Tests } from './operators.ts';
import type { Meter, Run, Site } from './run.ts';
import { RAW_TOOLS, type RawTool } from './types.ts';

/**
 * Paths into a tool's own output: `track[@type=Video].Format_Level`, `streams[codec_type=audio].tags."handler_name"`.
 * What brackets select are the elements that a rule judges one by one; the names behind the last bracket are the value
 * that each of them has.
 */
type Step =
  | { kind: 'member'; name: string }
  | { kind: 'index'; index: number }
  /** Of what the brackets before it selected. */
  | { kind: 'nth'; index: number }
  | { kind: 'all' }
  | { kind: 'where'; name: string; value: string };

interface RawPath {
  text: string;
  /** What leads to the elements, and from each of them to its value. */
  elements: readonly Step[];
  value: readonly string[];
}

/** What a tool's output begins with, so that a misspelt path is refused and not unknown in every file. */
const ROOTS: Readonly<Record<RawTool, readonly string[]>> = {
  ffprobe: (
    'format streams programs stream_groups chapters frames packets packets_and_frames program_version ' +
    'library_versions pixel_formats'
  ).split(' '),
  mediainfo: ['track', '@ref'],
  msv: 'success error tool version reference_version playlists variants messages summary'.split(' '),
  c2pa: 'success error summary active_manifest manifests remote_manifest validation_state validation_results'.split(
    ' ',
  ),
  qc: 'video audio until cut thresholds unread_lines not_checked integrity file'.split(' '),
};

const NAME = /^(?:"([^"]{1,200})"|([^.[\]"=]{1,200}))/;
const BRACKET = /^\[(?:(\d{1,5})|(\*)|([^=[\]"]{1,100})=(?:"([^"]{0,200})"|([^\]"]{0,200})))\]/;

/** The part of a tool's output that a path begins with; undefined: it is none. */
export function firstNameOf(path: string): string | undefined {
  const name = NAME.exec(path);
  return name?.[1] ?? name?.[2];
}

function rawPath(text: unknown, tool: RawTool, at: string): RawPath {
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
function rootOf(tool: RawTool, output: unknown): unknown {
  if (tool !== 'mediainfo') return output;
  return listOf(member(listOf(output)[0], 'media'))[0];
}

/** Undefined where the steps are used up. */
function elementsOf({ elements }: RawPath, root: unknown, meter: Meter): unknown[] | undefined {
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

const valueIn = ({ value }: RawPath, element: unknown): unknown =>
  value.reduce<unknown>((inner, name) => member(inner, name), element);

export const RAW_MEMBERS = ['tool', 'path', ...OPERATOR_NAMES] as const;

export function rawNode(members: Readonly<Record<string, unknown>>, { at }: Place): Node {
  const tool = RAW_TOOLS.find((known) => known === members['tool']);
  if (tool === undefined)
    throw unknownName(within(at, 'tool'), 'a tool whose output can be read', String(members['tool']), RAW_TOOLS);
  const path = rawPath(members['path'], tool, within(at, 'path'));
  const range = rangeOf(members['match'], within(at, 'match'));
  const tests = testsOf(subjectOf(tool), members, at);
  if (tests.tests.length === 0 && tests.presence === undefined)
    throw new PolicyError(at, `needs an operator: ${OPERATOR_NAMES.join(', ')}`);
  const text = `${path.text} of ${tool} ${tests.expected}`;
  return once({ text, judge: ({ run }) => judged(run, { tool, path, tests, range, text }) });
}

/** Another path of the same output: its first value. */
const subjectOf = (tool: RawTool): Subject => ({
  kind: SAID,
  refer(operand, at) {
    only(operand, ['path'], at);
    const other = rawPath((operand as { path?: unknown }).path, tool, within(at, 'path'));
    return ({ run }) => {
      const read = run.read(tool);
      if ('why' in read) return undefined;
      const element = elementsOf(other, rootOf(tool, read.output), run.meter)?.[0];
      return SAID.actual(valueIn(other, element));
    };
  },
  within: undefined,
  frame: () => 0,
});

interface Raw {
  tool: RawTool;
  path: RawPath;
  tests: Tests;
  range: Range | undefined;
  text: string;
}

function judged(run: Run, { tool, path, tests, range, text }: Raw): Finding {
  const { expected } = tests;
  const read = run.read(tool);
  if ('why' in read) return unknown(() => ({ message: read.why, field: path.text, expected }));
  const { from } = read;
  const elements = elementsOf(path, rootOf(tool, read.output), run.meter);
  if (elements === undefined || !run.meter.step(elements.length * tests.cost)) return EXHAUSTED;
  const told = (message: string, actual?: string): Told => ({
    message: `${path.text} ${message}`,
    field: path.text,
    expected,
    from,
    ...(actual === undefined ? {} : { actual }),
  });
  if (elements.length === 0 && tests.presence !== undefined && range === undefined) {
    const about = () => told('selects nothing');
    return tests.presence ? failed(1, about) : passed(about);
  }
  const findings: Finding[] = [];
  for (const element of elements) {
    findings.push(elementFinding(valueIn(path, element), tests, run.site, told));
    if (run.meter.spent) return EXHAUSTED;
  }
  if (findings.length === 0 && range === undefined) return notApplicable(() => told('selects nothing'));
  return gathered(findings, range, `element of ${path.text}`, text);
}

function elementFinding(
  said: unknown,
  tests: Tests,
  site: Site,
  told: (message: string, actual?: string) => Told,
): Finding {
  const actual = SAID.actual(said);
  if (actual === undefined) {
    if (tests.presence === undefined) return unknown(() => told('is not there'));
    // A list or an object is there, too.
    const there = said !== undefined && said !== null;
    const about = () => told(there ? 'is there' : 'is not there', there ? shown(said) : undefined);
    return there === tests.presence && tests.tests.length === 0 ? passed(about) : failed(1, about);
  }
  return ofValue(tests, said, actual, site, (_site, message, text) => told(message, text));
}
